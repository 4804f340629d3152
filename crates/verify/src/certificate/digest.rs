//! A canonical text of each JSON value: [`canonical`].

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns a value as JSON on one line, with the keys of its objects sorted by their bytes.
///
/// `serde_json` may keep the insertion order of keys, depending on the features of the build.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(keys) => {
            let sorted: BTreeMap<&String, &Value> = keys.iter().collect();
            let entry = |(key, value): (&String, &Value)| {
                format!("{}:{}", Value::from(key.as_str()), canonical(value))
            };
            format!("{{{}}}", sorted.into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::canonical;

    #[test]
    fn the_order_of_keys_and_white_space_do_not_matter() {
        let text = |json: &str| canonical(&serde_json::from_str(json).unwrap());
        assert_eq!(
            text("{ \"b\": [1, {\"z\": 0.5, \"y\": null}], \"a\\n\": \"x\" }"),
            text("{\"a\\n\":\"x\",\"b\":[1,{\"y\":null,\"z\":0.5}]}")
        );
        assert_eq!(text("{\"b\":1,\"a\":[true,{}]}"), "{\"a\":[true,{}],\"b\":1}");
    }
}
