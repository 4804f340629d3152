//! `.tarch`: a [`Config`] as Tensil's JSON object. Reading reports every fault; writing emits all
//! eleven keys in Tensil's order.

use npukit_base::{closest, suggestion};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Config, DataType, Overlap, Reading};
use crate::config::ClockError;
use crate::config::json_fields::shown;

/// Largest depth of a memory in vectors: with 62-bit addresses, the sum of two never overflows.
pub const MAX_DEPTH: u64 = 1 << 62;

/// An integer of the file: its legal range, and its field.
struct Key {
    name: &'static str,
    min: u64,
    max: u64,
    /// Default of a missing key; `None` makes the key required.
    default: Option<u64>,
    get: fn(&Config) -> u64,
    set: fn(&mut Config, u64),
}

const DATA_TYPE: &str = "data_type";
const READING: &str = "reading";
/// The integers that npukit has added; Tensil's reader does not know them.
const OURS: [&str; 9] = [
    "lookup_tables",
    "lookup_depth",
    "sample_block_size",
    "local_queue_depth",
    "overlapped_dram",
    "double_weights",
    "pipelined_simd",
    "outstanding_bursts",
    "registered_rows",
];
/// The keys of a file that belong to its systems, not to the architecture.
const SYSTEMS: [&str; 2] = ["system", "systems"];
/// Misprint of FP32BP16 in an old document.
const FP32BP16_MISPRINT: &str = "FP32B16";

#[rustfmt::skip] // Not formatted: one key per line, in the order in which upstream writes the keys.
const KEYS: [Key; 19] = [
    Key { name: "array_size",           min: 1, max: 1024,      default: None,    get: |c| c.array_size as u64,           set: |c, v| c.array_size = v as usize },
    Key { name: "dram0_depth",          min: 1, max: MAX_DEPTH, default: None,    get: |c| c.dram0_depth,                 set: |c, v| c.dram0_depth = v },
    Key { name: "dram1_depth",          min: 1, max: MAX_DEPTH, default: None,    get: |c| c.dram1_depth,                 set: |c, v| c.dram1_depth = v },
    Key { name: "local_depth",          min: 1, max: MAX_DEPTH, default: None,    get: |c| c.local_depth,                 set: |c, v| c.local_depth = v },
    Key { name: "accumulator_depth",    min: 1, max: MAX_DEPTH, default: None,    get: |c| c.accumulator_depth,           set: |c, v| c.accumulator_depth = v },
    Key { name: "simd_registers_depth", min: 0, max: 16,        default: None,    get: |c| c.simd_registers_depth as u64, set: |c, v| c.simd_registers_depth = v as usize },
    Key { name: "stride0_depth",        min: 1, max: 32,        default: None,    get: |c| c.stride0_depth as u64,        set: |c, v| c.stride0_depth = v as usize },
    Key { name: "stride1_depth",        min: 1, max: 32,        default: None,    get: |c| c.stride1_depth as u64,        set: |c, v| c.stride1_depth = v as usize },
    Key { name: "number_of_threads",    min: 1, max: 2,         default: Some(1), get: |c| c.number_of_threads as u64,    set: |c, v| c.number_of_threads = v as usize },
    Key { name: "thread_queue_depth",   min: 1, max: 1 << 20,   default: Some(8), get: |c| c.thread_queue_depth as u64,   set: |c, v| c.thread_queue_depth = v as usize },
    Key { name: "lookup_tables",        min: 0, max: 16,        default: Some(0), get: |c| c.lookup_tables as u64,        set: |c, v| c.lookup_tables = v as usize },
    Key { name: "lookup_depth",         min: 0, max: 1 << 16,   default: Some(0), get: |c| c.lookup_depth,                set: |c, v| c.lookup_depth = v },
    Key { name: "sample_block_size",    min: 0, max: 1 << 16,   default: Some(0), get: |c| c.sample_block_size.into(),    set: |c, v| c.sample_block_size = v as u32 },
    Key { name: "local_queue_depth",    min: 0, max: 16,        default: Some(0), get: |c| c.overlap.local_queue_depth as u64, set: |c, v| c.overlap.local_queue_depth = v as usize },
    Key { name: "overlapped_dram",      min: 0, max: 1,         default: Some(0), get: |c| c.overlap.overlapped_dram.into(), set: |c, v| c.overlap.overlapped_dram = v != 0 },
    Key { name: "double_weights",       min: 0, max: 1,         default: Some(0), get: |c| c.overlap.double_weights.into(),  set: |c, v| c.overlap.double_weights = v != 0 },
    Key { name: "pipelined_simd",       min: 0, max: 1,         default: Some(0), get: |c| c.overlap.pipelined_simd.into(),  set: |c, v| c.overlap.pipelined_simd = v != 0 },
    Key { name: "outstanding_bursts",   min: 0, max: 16,        default: Some(0), get: |c| c.overlap.outstanding_bursts as u64, set: |c, v| c.overlap.outstanding_bursts = v as usize },
    Key { name: "registered_rows",      min: 0, max: 1,         default: Some(0), get: |c| c.registered_rows.into(),         set: |c, v| c.registered_rows = v != 0 },
];

/// First and last value of a parameter in the specification's table, where npukit accepts others,
/// too.
///
/// Source: the page on architectural parameters, 3.1.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const TABLE: [(&str, u64, u64); 5] = [
    ("array_size",        2, 256),
    ("dram0_depth",       2, 1 << 32),
    ("dram1_depth",       2, 1 << 32),
    ("local_depth",       2, 1 << 16),
    ("accumulator_depth", 2, 1 << 16),
];

/// A fault of a `.tarch` file or a [`Config`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is not JSON.
    #[error("not JSON: {message} (line {line}, column {column})")]
    Json {
        /// Message of the parser.
        message: String,
        /// Line, starting at 1.
        line: usize,
        /// Column, starting at 1.
        column: usize,
    },
    /// The text is JSON, but not an object.
    #[error("an architecture is a JSON object of keys and values, not {found}")]
    NotAnObject {
        /// Kind of value that was found.
        found: String,
    },
    /// A required key is missing.
    #[error("`{key}` is missing: give {legal}{}", instead_of(misspelt.as_deref()))]
    Missing {
        /// Name of the key.
        key: &'static str,
        /// Legal values.
        legal: String,
        /// An unknown key with a similar spelling.
        misspelt: Option<String>,
    },
    /// A value has the wrong type or is out of range.
    #[error("`{key}` is {value}, but must be {legal}")]
    Invalid {
        /// Name of the key.
        key: &'static str,
        /// The value found, as JSON.
        value: String,
        /// Legal values.
        legal: String,
    },
    /// The results of a lookup do not fit in the registers.
    #[error(
        "`lookup_tables` is {tables}: a lookup writes one register per table, but `simd_registers_depth` is {registers}"
    )]
    TooManyTables {
        /// Number of lookup tables.
        tables: usize,
        /// Number of SIMD registers.
        registers: usize,
    },
    /// A parameter needs queues, but the instance has none.
    #[error("`{key}` is 1: it needs queues in front of local memory, but `local_queue_depth` is 0")]
    NoQueues {
        /// Name of the parameter.
        key: &'static str,
    },
    /// A system has an unknown key or an illegal value.
    #[error("invalid system: {message} (line {line}, column {column})")]
    System {
        /// Description of the fault and of the legal values.
        message: String,
        /// Line, starting at 1.
        line: usize,
        /// Column, starting at 1.
        column: usize,
    },
    /// The bus of a system cannot carry the vectors of the architecture.
    #[error("`{key}.axi_width_bits`: {source}")]
    Bus {
        /// Path of the system.
        key: String,
        /// Description of the fault and of the legal values.
        source: ClockError,
    },
}

impl ConfigError {
    /// Converts an error of the reader of systems.
    pub(super) fn system(error: serde_json::Error) -> Self {
        Self::System {
            message: without_place(&error.to_string()),
            line: error.line(),
            column: error.column(),
        }
    }
}

/// Every fault of a file at once; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// An accepted but questionable part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigWarning {
    /// A misprint of older documents, interpreted as intended.
    OldDataTypeName {
        /// Name in the file.
        found: String,
        /// Intended format, which [`Config::to_json`] writes.
        meant: DataType,
    },
    /// An unknown key, which is ignored.
    UnknownKey {
        /// Name of the key.
        key: String,
    },
    /// A value outside of the specification's table of parameters.
    Outside {
        /// Name of the key.
        key: &'static str,
        /// Value of the parameter.
        value: u64,
        /// First and last value of the table.
        table: (u64, u64),
    },
}

impl std::fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OldDataTypeName { found, meant } => {
                write!(
                    f,
                    "`{DATA_TYPE}` is \"{found}\": interpreted as {}, which is the correct name",
                    meant.name()
                )
            }
            Self::UnknownKey { key } => {
                write!(
                    f,
                    "`{key}` is not a key of an architecture and is ignored{}",
                    suggestion(key, known_keys())
                )
            }
            Self::Outside { key, value, table: (first, last) } => {
                write!(f, "`{key}` is {value}: the specification's table of parameters has {first} to {last}")
            }
        }
    }
}

impl Config {
    /// Reads a `.tarch` file in UTF-8 JSON. Unknown keys are ignored with a warning.
    /// `number_of_threads`, `thread_queue_depth` and `reading` default to 1, 8 and `released`; all
    /// other keys that npukit has added default to 0.
    ///
    /// Source: specification 2 and 1.2 (13, 24).
    ///
    /// # Errors
    ///
    /// [`ConfigErrors`]: text that is not JSON, or every missing or illegal key at once, with the
    /// legal range.
    pub fn from_json(text: &str) -> Result<(Self, Vec<ConfigWarning>), ConfigErrors> {
        let value: Value = serde_json::from_str(text).map_err(|error| ConfigError::Json {
            message: without_place(&error.to_string()),
            line: error.line(),
            column: error.column(),
        })?;
        Self::from_value(&value)
    }

    /// [`Config::from_json`] for a parsed value, for example the `arch` of a `.tmodel`.
    ///
    /// # Errors
    ///
    /// The errors of [`Config::from_json`], except those about the text.
    pub fn from_value(value: &Value) -> Result<(Self, Vec<ConfigWarning>), ConfigErrors> {
        let Value::Object(keys) = value else {
            return Err(ConfigError::NotAnObject { found: shown(value) }.into());
        };
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let data_type = read_data_type(keys, &mut warnings).unwrap_or_else(|error| {
            errors.push(error);
            DataType::Fp16Bp8
        });
        let unknown = keys.keys().filter(|key| !known_keys().any(|known| known == key.as_str()));
        warnings.extend(unknown.map(|key| ConfigWarning::UnknownKey { key: key.clone() }));
        let reading = read_reading(keys).unwrap_or_else(|error| {
            errors.push(error);
            Reading::Released
        });
        let mut config = Self { data_type, reading, ..Self::ZERO };
        for key in &KEYS {
            match key.read(keys) {
                Ok(value) => (key.set)(&mut config, value),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            config.check().map(|()| (config, warnings))
        } else {
            Err(ConfigErrors(errors))
        }
    }

    /// Returns the text of a file: all eleven keys in Tensil's order, then npukit's own keys
    /// without their default value.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a map of strings and integers always serializes") + "\n"
    }

    /// Checks the ranges of a config created in code; [`Config::from_json`] does this itself.
    ///
    /// # Errors
    ///
    /// [`ConfigErrors`] with every parameter that is out of range.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        let outside = |key: &&Key| !(key.min..=key.max).contains(&(key.get)(self));
        let mut errors: Vec<ConfigError> =
            KEYS.iter().filter(outside).map(|key| key.invalid((key.get)(self).to_string())).collect();
        if self.lookup_tables > self.simd_registers_depth {
            let (tables, registers) = (self.lookup_tables, self.simd_registers_depth);
            errors.push(ConfigError::TooManyTables { tables, registers });
        }
        errors.extend(self.overlap.without_queues().map(|key| ConfigError::NoQueues { key }));
        if errors.is_empty() { Ok(()) } else { Err(ConfigErrors(errors)) }
    }

    /// Returns the parameters outside of the specification's table. npukit compiles and runs
    /// programs for them, but no such hardware is known.
    pub fn outside_table(&self) -> Vec<ConfigWarning> {
        let outside = |&(name, first, last): &(&'static str, u64, u64)| {
            let value = KEYS.iter().find(|key| key.name == name).map(|key| (key.get)(self))?;
            let is_outside = !(first..=last).contains(&value);
            is_outside.then_some(ConfigWarning::Outside { key: name, value, table: (first, last) })
        };
        TABLE.iter().filter_map(outside).collect()
    }

    /// Initial value for reading keys; illegal without them.
    const ZERO: Self = Self {
        data_type: DataType::Fp16Bp8,
        array_size: 0,
        dram0_depth: 0,
        dram1_depth: 0,
        local_depth: 0,
        accumulator_depth: 0,
        simd_registers_depth: 0,
        stride0_depth: 0,
        stride1_depth: 0,
        number_of_threads: 0,
        thread_queue_depth: 0,
        lookup_tables: 0,
        lookup_depth: 0,
        sample_block_size: 0,
        reading: Reading::Released,
        overlap: Overlap::RELEASED,
        registered_rows: false,
    };
}

impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(DATA_TYPE, self.data_type.name())?;
        // Tensil's reader knows eleven keys. npukit's additional keys are written only if they are
        // used.
        for key in KEYS.iter().filter(|key| !OURS.contains(&key.name) || (key.get)(self) > 0) {
            map.serialize_entry(key.name, &(key.get)(self))?;
        }
        if self.reading != Reading::Released {
            map.serialize_entry(READING, self.reading.name())?;
        }
        map.end()
    }
}

/// Returns all keys of an architecture, including keys that a file omits.
pub(super) fn all_keys(config: &Config) -> Value {
    let texts = [(DATA_TYPE, config.data_type.name()), (READING, config.reading.name())];
    let texts = texts.map(|(key, name)| (key.to_owned(), Value::from(name)));
    let numbers = KEYS.iter().map(|key| (key.name.to_owned(), Value::from((key.get)(config))));
    Value::Object(texts.into_iter().chain(numbers).collect())
}

impl Key {
    fn read(&self, keys: &Map<String, Value>) -> Result<u64, ConfigError> {
        let value = match (keys.get(self.name), self.default) {
            (Some(value), _) => value,
            (None, Some(default)) => return Ok(default),
            (None, None) => return Err(missing(self.name, self.legal(), keys)),
        };
        let number = value.as_u64().filter(|number| (self.min..=self.max).contains(number));
        number.ok_or_else(|| self.invalid(shown(value)))
    }

    fn invalid(&self, value: String) -> ConfigError {
        ConfigError::Invalid { key: self.name, value, legal: self.legal() }
    }

    fn legal(&self) -> String {
        format!("an integer from {} to {}", self.min, self.max)
    }
}

/// Returns every key of a file.
fn known_keys() -> impl Iterator<Item = &'static str> {
    [DATA_TYPE, READING].into_iter().chain(KEYS.iter().map(|key| key.name)).chain(SYSTEMS)
}

/// Returns the error for a missing key, with a similarly spelled key if there is one.
fn missing(key: &'static str, legal: String, keys: &Map<String, Value>) -> ConfigError {
    let unknown = keys.keys().map(String::as_str).filter(|key| !known_keys().any(|known| known == *key));
    ConfigError::Missing { key, legal, misspelt: closest(key, unknown).map(str::to_owned) }
}

fn read_data_type(
    keys: &Map<String, Value>,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<DataType, ConfigError> {
    let legal = || format!("one of {}", DataType::ALL.map(DataType::name).join(", "));
    let value = keys.get(DATA_TYPE).ok_or_else(|| missing(DATA_TYPE, legal(), keys))?;
    let name = value.as_str().unwrap_or_default();
    if name == FP32BP16_MISPRINT {
        let (found, meant) = (name.to_owned(), DataType::Fp32Bp16);
        warnings.push(ConfigWarning::OldDataTypeName { found, meant });
        return Ok(meant);
    }
    DataType::from_name(name).ok_or_else(|| ConfigError::Invalid {
        key: DATA_TYPE,
        value: shown(value),
        legal: legal(),
    })
}

fn read_reading(keys: &Map<String, Value>) -> Result<Reading, ConfigError> {
    let Some(value) = keys.get(READING) else { return Ok(Reading::Released) };
    let found = Reading::ALL.into_iter().find(|reading| value.as_str() == Some(reading.name()));
    found.ok_or_else(|| ConfigError::Invalid {
        key: READING,
        value: shown(value),
        legal: format!("one of {}", Reading::ALL.map(Reading::name).join(", ")),
    })
}

fn instead_of(misspelt: Option<&str>) -> String {
    misspelt.map_or_else(String::new, |key| format!(" (`{key}` is not a key of an architecture)"))
}

/// Returns the parser's message without the appended place, which the error stores itself.
fn without_place(message: &str) -> String {
    message.split_once(" at line ").map_or(message, |(text, _)| text).to_owned()
}
