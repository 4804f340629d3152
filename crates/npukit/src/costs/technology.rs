//! [`Technology`]: energy per multiply-accumulate and per byte, read from TOML.
//!
//! ```toml
//! name = "my-28nm"
//! source = "where the figures come from"
//!
//! [mac]                     # pJ of a multiply-accumulate: int4, int8, int16, int32, fp16, bf16, fp32
//! int8 = { pj = 0.2, source = "post-layout simulation" }
//!
//! [memory]                  # pJ of a byte that is read or written
//! registers = { pj_per_byte = 0.1, source = "datasheet" }
//! sram = [{ bytes = 65536, pj_per_byte = 1.5, source = "datasheet" }]
//! dram = { pj_per_byte = 120, source = "datasheet" }
//! ```

use npukit_target::{CountedMemory, ErrorLocation, MacType, MemoryClass};
use serde::{Deserialize, Deserializer};

use crate::Context;
use crate::error::{Error, text_of};

/// Built-in tables, by name.
pub const TECHNOLOGIES: [(&str, &str); 1] =
    [("horowitz-45nm", include_str!("../../technologies/horowitz-45nm.toml"))];

/// Extension of files with tables.
const EXTENSION: &str = ".toml";
/// Largest legal energy in pJ.
const MAX_PJ: f64 = 1e9;

/// Table of energies. A figure that it does not have is unknown.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Technology {
    /// Name of the table.
    pub name: String,
    /// Source of the figures.
    pub source: String,
    /// Energy of multiply-accumulates.
    #[serde(default)]
    pub mac: MacTable,
    /// Energy of memories.
    #[serde(default)]
    pub memory: MemoryTable,
}

/// Energy of a multiply-accumulate by the type of its operands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MacTable {
    /// Integers or fixed point of at most 4 bits.
    pub int4: Option<Figure>,
    /// Integers or fixed point of at most 8 bits.
    pub int8: Option<Figure>,
    /// Integers or fixed point of at most 16 bits.
    pub int16: Option<Figure>,
    /// Integers or fixed point of at most 32 bits.
    pub int32: Option<Figure>,
    /// IEEE half precision.
    pub fp16: Option<Figure>,
    /// Brain floating point of 16 bits.
    pub bf16: Option<Figure>,
    /// IEEE single precision.
    pub fp32: Option<Figure>,
}

/// Energy of an operation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Energy in pJ, 0 to 1e9.
    #[serde(deserialize_with = "picojoules")]
    pub pj: f64,
    /// Source of the figure.
    pub source: String,
}

/// Energy of a byte that is read or written, by class of memory.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryTable {
    /// Register files.
    pub registers: Option<MemoryFigure>,
    /// Memories on the chip, by size.
    #[serde(default)]
    pub sram: Vec<SramFigure>,
    /// Memory outside the chip.
    pub dram: Option<MemoryFigure>,
}

/// Energy of a byte.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryFigure {
    /// Energy of a byte in pJ, 0 to 1e9.
    #[serde(deserialize_with = "picojoules")]
    pub pj_per_byte: f64,
    /// Source of the figure.
    pub source: String,
}

/// Energy of a byte in a memory on the chip.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SramFigure {
    /// Size of the memory in bytes.
    pub bytes: u64,
    /// Energy of a byte in pJ, 0 to 1e9.
    #[serde(deserialize_with = "picojoules")]
    pub pj_per_byte: f64,
    /// Source of the figure.
    pub source: String,
}

/// Reads a legal energy.
fn picojoules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let energy = f64::deserialize(deserializer)?;
    if (0.0..=MAX_PJ).contains(&energy) {
        return Ok(energy);
    }
    Err(serde::de::Error::custom(format!("energy is {energy} pJ: legal values are 0 to {MAX_PJ}")))
}

impl Technology {
    /// Returns the built-in table with this name, or reads the file.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] for a name that is neither a built-in table nor ends in `.toml`;
    /// [`Error::Read`] for a file that cannot be read; [`Error::Technology`] for a malformed table.
    pub fn load(name: &str, context: Context<'_>) -> Result<Self, Error> {
        if let Some((_, text)) = TECHNOLOGIES.iter().find(|(known, _)| *known == name) {
            return Self::from_toml(name, text);
        }
        if !name.ends_with(EXTENSION) {
            let known = TECHNOLOGIES.iter().map(|(known, _)| (*known).to_owned());
            let known = known.chain(["FILE.toml".to_owned()]).collect();
            return Err(Error::UnknownName { what: "technology", name: name.to_owned(), known });
        }
        let bytes = context.reader.read(name)?;
        Self::from_toml(name, text_of(name, &bytes)?)
    }

    /// Reads a table; `path` is its file, for errors.
    ///
    /// # Errors
    ///
    /// [`Error::Technology`] with the line of the first error and the legal keys or values.
    pub fn from_toml(path: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| {
            // Default: an error of the whole file is in its first line.
            let start = error.span().map_or(0, |span| span.start);
            let line = ErrorLocation::of_byte(text, start).line.unwrap_or(1);
            Error::Technology { path: path.to_owned(), line, reason: error.message().to_owned() }
        })
    }

    /// Returns the pJ of a multiply-accumulate; `None` if unknown.
    pub(super) fn mac(&self, mac_type: MacType) -> Option<f64> {
        let MacTable { int4, int8, int16, int32, fp16, bf16, fp32 } = &self.mac;
        let figure = match mac_type {
            MacType::Int4 => int4,
            MacType::Int8 => int8,
            MacType::Int16 => int16,
            MacType::Int32 => int32,
            MacType::Fp16 => fp16,
            MacType::Bf16 => bf16,
            MacType::Fp32 => fp32,
        };
        figure.as_ref().map(|figure| figure.pj)
    }

    /// Returns the pJ of a byte of a memory; `None` if unknown. Of SRAM, the smallest entry that is
    /// at least as large counts, otherwise the largest one.
    pub(super) fn byte(&self, memory: &CountedMemory) -> Option<f64> {
        let MemoryTable { registers, dram, .. } = &self.memory;
        match memory.class {
            MemoryClass::Registers => registers.as_ref().map(|figure| figure.pj_per_byte),
            MemoryClass::Dram => dram.as_ref().map(|figure| figure.pj_per_byte),
            MemoryClass::Sram => self.sram(memory).map(|figure| figure.pj_per_byte),
        }
    }

    /// Whether a memory on the chip is larger than any in the table.
    pub(super) fn is_beyond(&self, memory: &CountedMemory) -> bool {
        let figure = (memory.class == MemoryClass::Sram).then(|| self.sram(memory)).flatten();
        figure.is_some_and(|figure| figure.bytes < memory.size_bytes)
    }

    fn sram(&self, memory: &CountedMemory) -> Option<&SramFigure> {
        let sram = &self.memory.sram;
        let large = sram.iter().filter(|figure| figure.bytes >= memory.size_bytes);
        large.min_by_key(|figure| figure.bytes).or_else(|| sram.iter().max_by_key(|figure| figure.bytes))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::ReadError;

    use super::*;

    fn built_in() -> Technology {
        Technology::from_toml("horowitz-45nm", TECHNOLOGIES[0].1).unwrap()
    }

    fn sram(size_bytes: u64) -> CountedMemory {
        CountedMemory::new("m", MemoryClass::Sram, size_bytes)
    }

    #[test]
    fn built_in_tables_have_their_name() {
        for (name, text) in TECHNOLOGIES {
            assert_eq!(Technology::from_toml(name, text).unwrap().name, name);
        }
    }

    #[test]
    fn a_memory_costs_what_the_next_larger_one_does() {
        let table = built_in();
        let found = [1, 8192, 8193, 32768, 1 << 20, 1 << 21].map(|size| table.byte(&sram(size)).unwrap());
        assert_eq!(found, [1.25, 1.25, 2.5, 2.5, 12.5, 12.5]);
        assert!(table.is_beyond(&sram(1 << 21)) && !table.is_beyond(&sram(1 << 20)));
        assert_eq!(table.byte(&CountedMemory::new("d", MemoryClass::Dram, 1)), Some(243.75));
        assert_eq!((table.mac(MacType::Int8), table.mac(MacType::Bf16)), (Some(0.3), None));
    }

    #[test]
    fn errors_have_a_line_and_the_legal_keys() {
        let head = "name = \"t\"\nsource = \"s\"\n";
        let message = |rest: &str| match Technology::from_toml("t.toml", &format!("{head}{rest}")) {
            Err(Error::Technology { line, reason, .. }) => (line, reason),
            other => panic!("{rest}: {other:?}"),
        };
        for (rest, line, parts) in [
            ("[mac]\nint7 = { pj = 1, source = \"s\" }", 4, ["unknown field `int7`", "`int8`"]),
            ("[mac]\nint8 = { pj = 1 }", 4, ["missing field `source`", ""]),
            ("[mac]\nint8 = { pj = -1, source = \"s\" }", 4, ["energy is -1 pJ", "0 to 1000000000"]),
            ("[mac]\nint8 = { pj = nan, source = \"s\" }", 4, ["energy is NaN pJ", ""]),
            ("\n[memory]\nflash = 3", 5, ["unknown field `flash`", "`registers`, `sram`, `dram`"]),
            ("[memory]\nsram = [\n{ bytes = 8, pj = 1 }]", 5, ["unknown field `pj`", "`pj_per_byte`"]),
            ("volts = 1", 3, ["unknown field `volts`", "`mac`, `memory`"]),
        ] {
            let (found, reason) = message(rest);
            assert!(found == line && parts.iter().all(|part| reason.contains(part)), "{found} {reason}");
        }
        let nameless = Technology::from_toml("t.toml", "source = \"s\"").unwrap_err().to_string();
        assert!(nameless.contains("t.toml, line 1: missing field `name`"), "{nameless}");
    }

    #[test]
    fn a_name_is_built_in_or_a_file() {
        let none =
            |path: &str| -> Result<Vec<u8>, ReadError> { Err(ReadError::Absent { path: path.to_owned() }) };
        let load = |name: &str| Technology::load(name, Context::new(&none));
        assert_eq!(load("horowitz-45nm").unwrap(), built_in());
        assert!(matches!(load("horowitz"), Err(Error::UnknownName { what: "technology", .. })));
        assert!(matches!(load("t.toml"), Err(Error::Read(_))));
    }
}
