//! The `.pccx` trace container of the published laboratory: [`Trace`], reader and writer. Source:
//! specification 7.4.

mod payload;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use payload::{fnv64, read_payload, write_flat, write_payload};

/// Type of an event; the discriminant is the code in the flat payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are the format's")]
pub enum EventType {
    Unknown = 0,
    MacCompute,
    DmaRead,
    DmaWrite,
    SystolicStall,
    BarrierSync,
    ApiCall,
}

impl EventType {
    /// All types in the order of their codes.
    const ALL: [Self; 7] = [
        Self::Unknown,
        Self::MacCompute,
        Self::DmaRead,
        Self::DmaWrite,
        Self::SystolicStall,
        Self::BarrierSync,
        Self::ApiCall,
    ];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::MacCompute => "MAC_COMPUTE",
            Self::DmaRead => "DMA_READ",
            Self::DmaWrite => "DMA_WRITE",
            Self::SystolicStall => "SYSTOLIC_STALL",
            Self::BarrierSync => "BARRIER_SYNC",
            Self::ApiCall => "API_CALL",
        }
    }

    /// Returns the type of this name; `Unknown` for other names.
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|event| event.name() == name).unwrap_or(Self::Unknown)
    }
}

/// Activity of a core during some cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Index of the core, starting at 0.
    pub core: u32,
    /// First core cycle of the activity.
    pub start: u64,
    /// Duration in cycles.
    pub duration: u64,
    /// Kind of the activity.
    pub event: EventType,
    /// Name of the call, for an [`EventType::ApiCall`].
    pub api: Option<String>,
}

/// Timeline of events, in core cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Total number of core cycles.
    pub total_cycles: u64,
    /// Events in the order of the file.
    pub events: Vec<Event>,
}

/// Machine of a trace, as described in the container's header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arch {
    /// Rows and columns of the array.
    pub mac_dims: [u32; 2],
    /// Version of the instruction set.
    pub isa_version: String,
    /// Peak performance of all cores.
    pub peak_tops: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Summary {
    cycles: u64,
    cores: u32,
    clock_mhz: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PayloadInfo {
    encoding: String,
    byte_length: u64,
    checksum_fnv64: Option<serde_json::Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    pccx_lab_version: String,
    arch: Arch,
    trace: Summary,
    payload: PayloadInfo,
    #[serde(default)]
    format_minor: u8,
}

/// A trace with its header.
#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    /// Name and version of the program that wrote the container.
    pub lab_version: String,
    /// Description of the traced machine.
    pub arch: Arch,
    /// Number of cores in the trace.
    pub cores: u32,
    /// Clock frequency of the cycles, in MHz.
    pub clock_mhz: u64,
    /// Timeline of the events.
    pub trace: Trace,
}

/// Reason why bytes are not a container.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The container ends too early.
    #[error("byte {offset:#x}: {what} needs {need} bytes, but only {have} are left")]
    Short {
        /// Offset of the incomplete part.
        offset: usize,
        /// Name of the incomplete part.
        what: &'static str,
        /// Number of bytes left in the file.
        have: usize,
        /// Number of bytes that the part needs.
        need: u64,
    },
    /// The bytes do not follow the format.
    #[error("byte {offset:#x}: {what}")]
    Malformed {
        /// Offset of the error in the file.
        offset: usize,
        /// Description of the error.
        what: String,
    },
}

const MAGIC: [u8; 4] = *b"PCCX";
const MAJOR: u8 = 1;
const MINOR: u8 = 1;
/// Bytes of the prefix: magic, version, two zeros, length of the header.
const PREFIX_BYTES: usize = 16;
const BINCODE: &str = "bincode";

impl Container {
    /// Returns a trace in the container that the laboratory's generator writes.
    pub fn of_the_lab(trace: Trace, cores: u32) -> Self {
        let arch = Arch { mac_dims: [32, 32], isa_version: "1.1".to_owned(), peak_tops: 65.54 };
        Self { lab_version: "v0.4.0-contention-aware".to_owned(), arch, cores, clock_mhz: 1000, trace }
    }

    /// Returns the bytes of the container.
    pub fn write(&self) -> Vec<u8> {
        let payload = write_payload(&self.trace);
        let header = Header {
            pccx_lab_version: self.lab_version.clone(),
            arch: self.arch.clone(),
            trace: Summary { cycles: self.trace.total_cycles, cores: self.cores, clock_mhz: self.clock_mhz },
            payload: PayloadInfo {
                encoding: BINCODE.to_owned(),
                byte_length: payload.len() as u64,
                checksum_fnv64: Some(fnv64(&payload).into()),
            },
            format_minor: MINOR,
        };
        let header = serde_json::to_vec(&header).expect("maps of texts and numbers always serialize");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[MAJOR, MINOR, 0, 0]);
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&payload);
        bytes
    }

    /// Reads a container; also returns a warning if the checksum differs.
    ///
    /// # Errors
    /// [`TraceError::Short`] if a part is incomplete; [`TraceError::Malformed`] for another format
    /// or major version, and for a payload that does not match its header.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<String>), TraceError> {
        let prefix = payload::part(bytes, 0, PREFIX_BYTES as u64, "the container's head")?;
        let malformed = |offset, what: String| TraceError::Malformed { offset, what };
        if !prefix.starts_with(&MAGIC) {
            return Err(malformed(0, "a trace begins with `PCCX`".to_owned()));
        }
        if let Some(&major) = prefix.get(4).filter(|&&major| major != MAJOR) {
            return Err(malformed(4, format!("major version {major}: this reads version {MAJOR}")));
        }
        let length = prefix.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let header = payload::part(bytes, PREFIX_BYTES, length, "the header")?;
        let at = PREFIX_BYTES + header.len();
        let header: Header = serde_json::from_slice(header)
            .map_err(|error| malformed(PREFIX_BYTES + error.column().saturating_sub(1), error.to_string()))?;
        if header.payload.encoding != BINCODE {
            return Err(malformed(
                at,
                format!("encoding `{}`: this reads `{BINCODE}`", header.payload.encoding),
            ));
        }
        let payload = payload::part(bytes, at, header.payload.byte_length, "the payload")?;
        let trace = read_payload(payload, at)?;
        let warnings = checksum_warning(&header.payload, payload);
        let Header { pccx_lab_version, arch, trace: Summary { cores, clock_mhz, .. }, .. } = header;
        Ok((Self { lab_version: pccx_lab_version, arch, cores, clock_mhz, trace }, warnings))
    }
}

/// The checksum is hexadecimal text according to the page; the tool writes a number or nothing.
fn checksum_warning(info: &PayloadInfo, payload: &[u8]) -> Vec<String> {
    let found = fnv64(payload);
    let agrees = match &info.checksum_fnv64 {
        None | Some(serde_json::Value::Null) => true,
        Some(serde_json::Value::String(text)) => {
            u64::from_str_radix(text.trim_start_matches("0x"), 16) == Ok(found)
        }
        Some(value) => value.as_u64() == Some(found),
    };
    if agrees {
        Vec::new()
    } else {
        vec![format!("the payload's checksum is {found:#x}, which differs from the header")]
    }
}
