//! Payloads of a `.pccx` container: length-prefixed (`bincode`, version 1) and flat records.

use super::{Event, EventType, Trace, TraceError};

/// Returns the 64-bit FNV-1a hash.
pub fn fnv64(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Writes the length-prefixed payload.
pub fn write_payload(trace: &Trace) -> Vec<u8> {
    let mut bytes = trace.total_cycles.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(trace.events.len() as u64).to_le_bytes());
    for event in &trace.events {
        bytes.extend_from_slice(&event.core.to_le_bytes());
        bytes.extend_from_slice(&event.start.to_le_bytes());
        bytes.extend_from_slice(&event.duration.to_le_bytes());
        write_text(&mut bytes, event.event.name());
        match &event.api {
            None => bytes.push(0),
            Some(api) => {
                bytes.push(1);
                write_text(&mut bytes, api);
            }
        }
    }
    bytes
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Writes the flat payload: one record of 24 bytes per event, followed by the names of calls.
pub fn write_flat(trace: &Trace) -> Vec<u8> {
    const NAMES: u32 = 0x3243_4350;
    let mut bytes = Vec::new();
    for event in &trace.events {
        bytes.extend_from_slice(&event.core.to_le_bytes());
        bytes.extend_from_slice(&event.start.to_le_bytes());
        bytes.extend_from_slice(&event.duration.to_le_bytes());
        bytes.extend_from_slice(&(event.event as u32).to_le_bytes());
    }
    let named =
        trace.events.iter().enumerate().filter_map(|(index, event)| Some((index, event.api.as_ref()?)));
    let named: Vec<_> = named.collect();
    if !named.is_empty() {
        bytes.extend_from_slice(&NAMES.to_le_bytes());
        bytes.extend_from_slice(&(named.len() as u32).to_le_bytes());
        for (index, api) in named {
            // Names are short in practice. A longer name is truncated to the maximum of its length
            // field.
            let name = api.as_bytes();
            let name = name.get(..usize::from(u16::MAX)).unwrap_or(name);
            bytes.extend_from_slice(&(index as u32).to_le_bytes());
            bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(name);
        }
    }
    bytes
}

/// Reads the length-prefixed payload, which begins at byte `base` of its file.
///
/// # Errors
/// [`TraceError::Short`] if a part is incomplete; [`TraceError::Malformed`] for text that is not
/// UTF-8, and for trailing bytes.
pub fn read_payload(bytes: &[u8], base: usize) -> Result<Trace, TraceError> {
    let mut reading = Reading { bytes, base, at: 0 };
    let total_cycles = u64::from_le_bytes(reading.array("the number of cycles")?);
    let count = u64::from_le_bytes(reading.array("the number of events")?);
    let mut events = Vec::new();
    for _ in 0..count {
        events.push(reading.event()?);
    }
    if reading.at != bytes.len() {
        let what = format!("{} bytes are left after the last event", bytes.len() - reading.at);
        return Err(TraceError::Malformed { offset: base + reading.at, what });
    }
    Ok(Trace { total_cycles, events })
}

/// Returns `need` bytes starting at `offset`.
pub(super) fn part<'a>(
    bytes: &'a [u8],
    offset: usize,
    need: u64,
    what: &'static str,
) -> Result<&'a [u8], TraceError> {
    // Default: no bytes are left after the end, which is reported below.
    let left = bytes.get(offset..).unwrap_or_default();
    let size = usize::try_from(need).ok();
    size.and_then(|size| left.get(..size)).ok_or(TraceError::Short { offset, what, have: left.len(), need })
}

struct Reading<'a> {
    bytes: &'a [u8],
    base: usize,
    at: usize,
}

impl Reading<'_> {
    fn take(&mut self, need: u64, what: &'static str) -> Result<&[u8], TraceError> {
        let taken = part(self.bytes, self.at, need, what).map_err(|error| match error {
            TraceError::Short { offset, what, have, need } => {
                TraceError::Short { offset: self.base + offset, what, have, need }
            }
            other => other,
        })?;
        self.at += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], TraceError> {
        Ok(*self
            .take(N as u64, what)?
            .first_chunk()
            .expect("`take` returns exactly the requested number of bytes"))
    }

    fn text(&mut self, what: &'static str) -> Result<String, TraceError> {
        let size = u64::from_le_bytes(self.array(what)?);
        let offset = self.base + self.at;
        let text = std::str::from_utf8(self.take(size, what)?).map(str::to_owned);
        text.map_err(|_| TraceError::Malformed { offset, what: format!("{what} is not UTF-8 text") })
    }

    fn event(&mut self) -> Result<Event, TraceError> {
        let core = u32::from_le_bytes(self.array("an event's core")?);
        let start = u64::from_le_bytes(self.array("an event's start")?);
        let duration = u64::from_le_bytes(self.array("an event's duration")?);
        let event = EventType::from_name(&self.text("an event's type")?);
        let offset = self.base + self.at;
        let api = match self.array("whether an event has a name")? {
            [0] => None,
            [1] => Some(self.text("an event's name")?),
            [other] => {
                let what = format!("the flag for the name of an event is {other}: legal are 0 and 1");
                return Err(TraceError::Malformed { offset, what });
            }
        };
        Ok(Event { core, start, duration, event, api })
    }
}
