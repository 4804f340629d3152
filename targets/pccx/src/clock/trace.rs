//! The `.pccx` trace container of the upstream laboratory: [`Trace`], its bytes both ways.
//! Source: specification 7.4.

mod payload;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use payload::{fnv64, read_payload, write_flat, write_payload};

/// What an event is; the discriminant is the code of the flat payload.
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
    /// Every type, by code.
    const ALL: [Self; 7] = [
        Self::Unknown,
        Self::MacCompute,
        Self::DmaRead,
        Self::DmaWrite,
        Self::SystolicStall,
        Self::BarrierSync,
        Self::ApiCall,
    ];

    /// The name in files.
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

    /// The type of that name; others are unknown.
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|event| event.name() == name).unwrap_or(Self::Unknown)
    }
}

/// Something that takes time on a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The core, from 0.
    pub core: u32,
    /// First cycle.
    pub start: u64,
    /// How many cycles it takes.
    pub duration: u64,
    /// What the core does.
    pub event: EventType,
    /// Name of the call, of an [`EventType::ApiCall`].
    pub api: Option<String>,
}

/// A timeline of events, in core cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Cycles from start to end.
    pub total_cycles: u64,
    /// In the order of the file.
    pub events: Vec<Event>,
}

/// The machine a trace is of, in the container's header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arch {
    /// Rows and columns of the array.
    pub mac_dims: [u32; 2],
    /// Version of the instruction set.
    pub isa_version: String,
    /// Peak of all cores.
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

/// A trace with the header around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    /// Name and version of the program that wrote it.
    pub lab_version: String,
    /// The machine.
    pub arch: Arch,
    /// Cores in use.
    pub cores: u32,
    /// Clock of the cycles.
    pub clock_mhz: u64,
    /// The events.
    pub trace: Trace,
}

/// Why bytes are not a container.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The container ends too early.
    #[error("byte {offset:#x}: {have} bytes are left of {what}, which takes {need}")]
    Short {
        /// Where the part begins.
        offset: usize,
        /// Which part.
        what: &'static str,
        /// Bytes present.
        have: usize,
        /// Bytes needed.
        need: u64,
    },
    /// Not the bytes of this format.
    #[error("byte {offset:#x}: {what}")]
    Malformed {
        /// Where.
        offset: usize,
        /// What is wrong.
        what: String,
    },
}

const MAGIC: [u8; 4] = *b"PCCX";
const MAJOR: u8 = 1;
const MINOR: u8 = 1;
/// Magic, version, two zeros, length of the header.
const PREFIX_BYTES: usize = 16;
const BINCODE: &str = "bincode";

impl Container {
    /// The container that the laboratory's generator writes around a trace.
    pub fn of_the_lab(trace: Trace, cores: u32) -> Self {
        let arch = Arch { mac_dims: [32, 32], isa_version: "1.1".to_owned(), peak_tops: 65.54 };
        Self { lab_version: "v0.4.0-contention-aware".to_owned(), arch, cores, clock_mhz: 1000, trace }
    }

    /// The container's bytes.
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
        let header = serde_json::to_vec(&header).expect("maps of texts and numbers always serialise");
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[MAJOR, MINOR, 0, 0]);
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&payload);
        bytes
    }

    /// Reads a container; also gives warnings: a checksum that differs.
    ///
    /// # Errors
    ///
    /// [`TraceError::Short`] for a part cut short; [`TraceError::Malformed`] for another format or major
    /// version, and a payload that is not what its header says.
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

/// The page says hexadecimal text, the tool writes a number or nothing.
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
        vec![format!("the payload's checksum is {found:#x}, which the header does not say")]
    }
}
