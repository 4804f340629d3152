//! [`MemoryDump`]: the contents of an address range of a memory.

use serde::Serialize;

/// Contents of an address range of a memory after a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryDump {
    /// Label: the range as requested, or the output's name.
    pub name: String,
    /// Name of the memory.
    pub memory: String,
    /// First address of the range.
    pub start: u64,
    /// End address of the range, exclusive.
    pub end: u64,
    /// Number of lanes per address.
    pub lanes: usize,
    /// Width of a number in bits.
    pub bits: u32,
    /// File that the contents were written to, if any.
    pub file: Option<String>,
    /// The memory's integers, address by address: the first 4096, unless they were written to a
    /// file.
    pub raw: Vec<i64>,
    /// Real values of the integers in the memory's format; `None` for a memory of integers.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Vec<Option<f64>>>"))]
    pub real: Option<Vec<f64>>,
    /// Total number of numbers in the range.
    pub count: usize,
}

/// Maximum number of numbers of a range in a report.
const REPORTED: usize = 4096;

impl MemoryDump {
    /// Truncates the contents for a report.
    pub(crate) fn reported(mut self) -> Self {
        let most = if self.file.is_some() { 0 } else { REPORTED };
        self.raw.truncate(most);
        if let Some(real) = &mut self.real {
            real.truncate(most);
        }
        self
    }
}
