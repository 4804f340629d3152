//! Golden test vectors: [`vectors`] reads and runs them. The formats are described in
//! `golden/pccx/README.md`; there are also programs of npukit. A format is recognized by the file
//! name, such as `ref_gemm.json` or `ref_gemm-2.json`, and by a key in the file.

mod encoding;
mod host;
pub mod numpy;
mod pccx_lab;
mod program;
mod reference;
mod upstream;

use npukit_target::{Case, Outcome, Reader};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::machine::Machine;
use crate::{Config, MachineError};

/// Function that reads and runs the cases of a file; the error describes invalid content.
type Read = fn(&[u8]) -> Result<Vec<Case>, String>;

#[rustfmt::skip] // Not formatted: a table of start of the name, extension, key and reader.
const FORMATS: [(&str, &str, &str, Read); 29] = [
    ("encoding",        "json",  "encodings", encoding::encodings),
    ("decode_uops",     "json",  "steps",     encoding::micro_operations),
    ("load_words",      "json",  "rows",      encoding::load_words),
    ("weight_beats",    "json",  "cases",     encoding::weight_beats),
    ("host_cmd",        "json",  "commands",  host::commands),
    ("ref_gemm",        "json",  "cases",     reference::gemm),
    ("ref_reduce_sum",  "json",  "cases",     reference::reduce_sum),
    ("ref_scale",       "json",  "cases",     reference::scale),
    ("ref_softmax",     "json",  "cases",     reference::softmax),
    ("ref_cvo_exp",     "u16le", "",          |bytes| reference::function(bytes, crate::isa::op::CvoFunc::Exp)),
    ("ref_cvo_sqrt",    "u16le", "",          |bytes| reference::function(bytes, crate::isa::op::CvoFunc::Sqrt)),
    ("ref_cvo_gelu",    "u16le", "",          |bytes| reference::function(bytes, crate::isa::op::CvoFunc::Gelu)),
    ("ref_cvo_sin",     "u16le", "",          |bytes| reference::function(bytes, crate::isa::op::CvoFunc::Sin)),
    ("ref_cvo_cos",     "u16le", "",          |bytes| reference::function(bytes, crate::isa::op::CvoFunc::Cos)),
    ("ref_cvo_recip",   "u16le", "",          |bytes| reference::function(bytes, crate::isa::op::CvoFunc::Recip)),
    ("preprocess",      "json",  "blocks",    upstream::preprocess),
    ("normalize",       "json",  "rows",      upstream::normalize),
    ("dual_mac",        "json",  "rows",      upstream::dual_mac),
    ("rtl_reduce_sum",  "json",  "runs",      upstream::reduce_sum),
    ("rtl_scale",       "json",  "runs",      upstream::scale),
    ("rtl_sfu_exp",     "u16le", "",          |bytes| upstream::function(bytes, crate::machine::upstream::sfu::exp)),
    ("rtl_sfu_recip",   "u16le", "",          |bytes| upstream::function(bytes, crate::machine::upstream::sfu::recip)),
    ("rtl_sfu_sqrt",    "u16le", "",          |bytes| upstream::function(bytes, crate::machine::upstream::sfu::sqrt)),
    ("rtl_cordic",      "u16le", "",          upstream::cordic),
    ("numpy_ops",       "json",  "cases",     numpy::operators),
    ("numpy_layer",     "json",  "layers",    numpy::steps),
    ("lab_estimates",   "json",  "traces",    pccx_lab::estimates),
    ("trace",           "pccx",  "",          pccx_lab::container),
    ("program",         "json",  "programs",  program::programs),
];

/// Returns the cases of a file, or `None` if its format is unknown.
pub fn vectors(path: &str, bytes: &[u8], _files: &dyn Reader) -> Option<Vec<Case>> {
    let name = path.rsplit(['/', '\\']).next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    let known = |(begin, ending, key, _): &&(&str, &str, &str, Read)| {
        let rest = stem.strip_prefix(begin);
        *ending == extension
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-', '.']))
            && has_key(bytes, key)
    };
    let (.., read) = FORMATS.iter().find(known)?;
    Some(
        read(bytes).unwrap_or_else(|error| {
            vec![Case::done(name, Outcome::error("a valid file of this format", error))]
        }),
    )
}

/// Whether a JSON file has a key; always true for other files.
fn has_key(bytes: &[u8], key: &str) -> bool {
    key.is_empty()
        || json::<serde_json::Map<String, serde_json::Value>>(bytes).is_ok_and(|map| map.contains_key(key))
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// Splits bytes into records of `N` 16-bit values.
fn records<const N: usize>(bytes: &[u8]) -> Result<Vec<[u16; N]>, String> {
    let (values, rest) = bytes.as_chunks::<2>();
    let values: Vec<u16> = values.iter().map(|&pair| u16::from_le_bytes(pair)).collect();
    let (records, left) = values.as_chunks::<N>();
    match rest.len() + 2 * left.len() {
        0 => Ok(records.to_vec()),
        left => Err(format!("{left} bytes are left after records of {} bytes", 2 * N)),
    }
}

/// Returns a machine of a built-in instance.
fn machine(preset: &str) -> Result<Machine, String> {
    let config = Config::preset(preset).ok_or_else(|| format!("unknown instance {preset}"))?;
    Machine::new(&config).map_err(|error: MachineError| error.to_string())
}

/// Compares an expected value with a computed one, or with the error of its computation.
fn outcome<T: PartialEq + std::fmt::Debug>(expected: &T, got: Result<T, String>) -> Outcome {
    match got {
        Ok(got) if got == *expected => Outcome::Passed,
        Ok(got) => Outcome::Failed { expected: format!("{expected:x?}"), got: format!("{got:x?}") },
        Err(error) => Outcome::error(format!("{expected:x?}"), error),
    }
}

/// A number given as hexadecimal text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Hex(u64);

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        u64::from_str_radix(digits, 16)
            .map(Self)
            .map_err(|error| serde::de::Error::custom(format!("`{text}`: {error}")))
    }
}

/// Returns the lowest 16 bits of each number.
fn patterns(values: &[Hex]) -> Vec<u16> {
    values.iter().map(|value| value.0 as u16).collect()
}

/// Parses bytes written in hexadecimal.
fn bytes_of(digits: &str) -> Result<Vec<u8>, String> {
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
        u8::from_str_radix(text, 16).map_err(|error| format!("`{text}`: {error}"))
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}
