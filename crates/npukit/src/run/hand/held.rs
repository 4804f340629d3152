//! [`Held`]: what a range of addresses of a memory holds.

use serde::Serialize;

/// What a range of addresses of a memory holds after a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Held {
    /// What it is called: the range as it was asked for, or the output's name.
    pub name: String,
    /// Name of the memory.
    pub memory: String,
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// Numbers at each address.
    pub lanes: usize,
    /// Bits of a number.
    pub bits: u32,
    /// Where it was written to, if it was.
    pub file: Option<String>,
    /// The memory's own numbers, address by address: the first 4096, where they were not written to a file.
    pub raw: Vec<i64>,
    /// The real values that the memory's format gives them; none for a memory of integers.
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Vec<Option<f64>>>"))]
    pub real: Option<Vec<f64>>,
    /// Numbers in all.
    pub count: usize,
}

/// Numbers that a report has of a range.
const REPORTED: usize = 4096;

impl Held {
    /// What a report has of it.
    pub(crate) fn reported(mut self) -> Self {
        let most = if self.file.is_some() { 0 } else { REPORTED };
        self.raw.truncate(most);
        if let Some(real) = &mut self.real {
            real.truncate(most);
        }
        self
    }
}
