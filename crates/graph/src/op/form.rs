//! Operators in files. All readers and writers go through JSON values, so that the code for the
//! operators and their attributes exists once, not once for each format and program.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

use super::Op;

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = Self::serialize(self, serde_json::value::Serializer).map_err(S::Error::custom)?;
        shortest(value).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Returns the value with every float in the fewest digits that identify the `f32`; all float
/// attributes are `f32`.
fn shortest(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(short(&number).unwrap_or(number)),
        Value::Array(values) => values.into_iter().map(shortest).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, shortest(value))).collect(),
        other => other,
    }
}

fn short(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    Number::from_f64((float as f32).to_string().parse().ok()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::op::{Clip, Gemm, Softmax, Transpose};

    /// Serializes with derived code directly, without an intermediate value.
    struct Direct<'a>(&'a Op);

    impl Serialize for Direct<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            Op::serialize(self.0, serializer)
        }
    }

    #[test]
    fn operators_are_read_as_they_were_and_written_as_derived_code_does() {
        let ops: [Op; 5] = [
            Clip { min: f32::NEG_INFINITY, max: 1e-5 }.into(),
            Clip { min: f32::MIN_POSITIVE, max: f32::MAX }.into(),
            Gemm { alpha: 0.1, beta: 1.0 / 3.0, trans_a: false, trans_b: true }.into(),
            Softmax { axis: 1, axis_end: 2 }.into(),
            Transpose { perm: vec![0, 2, 1] }.into(),
        ];
        for op in ops {
            let text = serde_json::to_string(&op).unwrap();
            assert_eq!(serde_json::from_str::<Op>(&text).unwrap(), op, "{text}");
            let direct = serde_json::to_string(&Direct(&op)).unwrap();
            let values = [&text, &direct].map(|text| serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(values[0], values[1], "{text} {direct}");
        }
        let unknown = serde_json::from_str::<Op>(r#"{"Sing": {}}"#).unwrap_err().to_string();
        assert!(unknown.contains("unknown variant `Sing`"), "{unknown}");
    }
}
