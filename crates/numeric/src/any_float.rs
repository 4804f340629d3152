//! Serde support for infinite and NaN floats in formats without such numbers, such as JSON. There
//! they are `"inf"`, `"-inf"` and `"nan"`. Use on fields: `#[serde(with =
//! "npukit_numeric::any_float")]`.

use std::fmt;

use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Types of fields: floats, and containers of floats.
pub trait Floats: Sized {
    /// Serialized form of the type.
    type Serialized: Serialize + DeserializeOwned;
    /// Converts to the serialized form.
    fn serialized(&self) -> Self::Serialized;
    /// Converts from the serialized form.
    fn of(serialized: Self::Serialized) -> Self;
}

/// Serialized form of a float.
pub struct SerializedFloat(f32);

impl Floats for f32 {
    type Serialized = SerializedFloat;

    fn serialized(&self) -> SerializedFloat {
        SerializedFloat(*self)
    }

    fn of(serialized: SerializedFloat) -> Self {
        serialized.0
    }
}

impl<T: Floats> Floats for Option<T> {
    type Serialized = Option<T::Serialized>;

    fn serialized(&self) -> Self::Serialized {
        self.as_ref().map(T::serialized)
    }

    fn of(serialized: Self::Serialized) -> Self {
        serialized.map(T::of)
    }
}

impl<T: Floats> Floats for [T; 2] {
    type Serialized = [T::Serialized; 2];

    fn serialized(&self) -> Self::Serialized {
        self.each_ref().map(T::serialized)
    }

    fn of(serialized: Self::Serialized) -> Self {
        serialized.map(T::of)
    }
}

/// Serializes a field.
///
/// # Errors
///
/// Errors of the serializer.
pub fn serialize<T: Floats, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialized().serialize(serializer)
}

/// Deserializes a field.
///
/// # Errors
///
/// Errors of the deserializer, and strings that do not name a float.
pub fn deserialize<'de, T: Floats, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Serialized::deserialize(deserializer).map(T::of)
}

impl Serialize for SerializedFloat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(value) = *self;
        match name(value) {
            Some(name) if serializer.is_human_readable() => serializer.serialize_str(name),
            _ if is_read_exactly(value) || !serializer.is_human_readable() => serializer.serialize_f32(value),
            _ => serializer.serialize_f64(value.into()),
        }
    }
}

/// Returns the name of a float that JSON cannot represent; `None` for finite floats.
pub fn name(value: f32) -> Option<&'static str> {
    match value {
        f32::INFINITY => Some("inf"),
        f32::NEG_INFINITY => Some("-inf"),
        value if value.is_nan() => Some("nan"),
        _ => None,
    }
}

/// Returns the float with a name; `None` for an unknown name.
pub fn named(text: &str) -> Option<f32> {
    [f32::INFINITY, f32::NEG_INFINITY, f32::NAN].into_iter().find(|&value| name(value) == Some(text))
}

/// Whether the shortest decimal form of a float is parsed to the same float through a double.
fn is_read_exactly(value: f32) -> bool {
    value.to_string().parse::<f64>().is_ok_and(|double| double as f32 == value)
}

impl<'de> Deserialize<'de> for SerializedFloat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return f32::deserialize(deserializer).map(Self);
        }
        deserializer.deserialize_any(AnyFloat).map(Self)
    }
}

struct AnyFloat;

impl Visitor<'_> for AnyFloat {
    type Value = f32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, `inf`, `-inf` or `nan`")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f32, E> {
        Ok(value as f32)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f32, E> {
        Ok(value as f32)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f32, E> {
        Ok(value as f32)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f32, E> {
        named(text).ok_or_else(|| E::custom(format!("`{text}` is not a number, `inf`, `-inf` or `nan`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;

    #[derive(Serialize, Deserialize)]
    struct Fields {
        #[serde(with = "super")]
        one: f32,
        #[serde(default, with = "super", skip_serializing_if = "Option::is_none")]
        maybe: Option<f32>,
        #[serde(with = "super")]
        four: [[f32; 2]; 2],
    }

    impl Fields {
        fn bits(&self) -> Vec<u32> {
            let all =
                [self.one, self.maybe.unwrap_or(0.5)].into_iter().chain(self.four.into_iter().flatten());
            all.map(f32::to_bits).collect()
        }
    }

    #[test]
    fn any_float_is_read_as_it_was_written() {
        let special =
            [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0, f32::MAX, f32::MIN_POSITIVE, 1e-45, 3.0];
        let mut random = SplitMix64::new(1);
        let others = (0..10_000).map(|_| f32::from_bits(random.bits() as u32)).filter(|x| !x.is_nan());
        for x in special.into_iter().chain(others) {
            for maybe in [None, Some(x)] {
                let fields = Fields { one: x, maybe, four: [[x, 1.0], [0.0, -x]] };
                let text = serde_json::to_string(&fields).expect("fields serialize");
                let again: Fields = serde_json::from_str(&text).expect("the text parses");
                let is_nan = x.is_nan() && again.one.is_nan() && again.four[1][1].is_nan();
                assert!(is_nan || again.bits() == fields.bits(), "{x:e}: {text}");
            }
        }
    }

    #[test]
    fn texts_that_name_no_float_are_refused() {
        for text in
            [r#"{"one": "infinity", "four": [[0, 0], [0, 0]]}"#, r#"{"one": null, "four": [[0, 0], [0, 0]]}"#]
        {
            let error = serde_json::from_str::<Fields>(text)
                .err()
                .expect("the text does not name a float")
                .to_string();
            assert!(error.contains("`inf`, `-inf` or `nan`"), "{error}");
        }
    }
}
