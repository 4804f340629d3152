//! Floats that may be infinite, in formats that have no such numbers: JSON. There they are `"inf"` and `"-inf"`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A float as texts have it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f32),
    Name(String),
}

pub(super) fn serialize<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() && value.is_infinite() {
        let name = if *value > 0.0 { "inf" } else { "-inf" };
        return Written::Name(name.to_owned()).serialize(serializer);
    }
    value.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    if !deserializer.is_human_readable() {
        return f32::deserialize(deserializer);
    }
    match Written::deserialize(deserializer)? {
        Written::Number(value) => Ok(value),
        Written::Name(name) => match name.as_str() {
            "inf" => Ok(f32::INFINITY),
            "-inf" => Ok(f32::NEG_INFINITY),
            _ => Err(D::Error::custom(format!("`{name}` is no number, `inf` or `-inf`"))),
        },
    }
}
