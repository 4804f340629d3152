//! [`Validator`]: checks a value against a JSON Schema (draft 2020-12), for the keywords that our
//! schemas use.
//!
//! An unknown keyword is an error of the schema, so that nothing is unchecked.

use serde_json::{Map, Value};

/// Keywords without effect on values. `format` is one, unless a validator is asked to check it.
const NOTES: [&str; 6] = ["$schema", "$defs", "title", "description", "format", "default"];
/// Prefix of references to schemas.
const PARTS: &str = "#/$defs/";

/// Schema to check against.
pub struct Validator {
    root: Value,
}

/// Reason and place of a violation; or an error in the schema.
type Verdict = Result<(), String>;

impl Validator {
    /// Creates a validator for a schema.
    pub fn new(root: Value) -> Self {
        Self { root }
    }

    /// Checks a value; the error names the place, and what is expected there.
    pub fn check(&self, value: &Value) -> Verdict {
        self.valid(&self.root, value).map_err(|message| format!("value{message}"))
    }

    fn valid(&self, schema: &Value, value: &Value) -> Verdict {
        match schema {
            Value::Bool(true) => Ok(()),
            Value::Bool(false) => Err(format!(": no value is allowed here, but {value} was found")),
            Value::Object(schema) => {
                schema.iter().try_for_each(|(keyword, says)| self.keyword(keyword, says, schema, value))
            }
            _ => Err(format!(": {schema} is not a schema")),
        }
    }

    fn keyword(&self, keyword: &str, says: &Value, schema: &Map<String, Value>, value: &Value) -> Verdict {
        let expect =
            |is_so: bool| if is_so { Ok(()) } else { Err(format!(": {keyword} {says}, found {value}")) };
        match keyword {
            "type" => expect(types(says).iter().any(|name| is_of(value, name))),
            "const" => expect(value == says),
            "enum" => expect(says.as_array().is_some_and(|all| all.contains(value))),
            "minimum" => {
                expect(value.as_f64().is_none_or(|value| says.as_f64().is_some_and(|least| value >= least)))
            }
            "minItems" => {
                expect(length(value).is_none_or(|found| says.as_u64().is_some_and(|least| found >= least)))
            }
            "maxItems" => {
                expect(length(value).is_none_or(|found| says.as_u64().is_some_and(|most| found <= most)))
            }
            "required" => self.required(says, value),
            "properties" => self.properties(says, value),
            "additionalProperties" => self.others(says, schema.get("properties"), value),
            "prefixItems" => self.first_items(says, value),
            "items" => self.items(says, schema.get("prefixItems"), value),
            "anyOf" => self.some_of(says, value, |fitting| fitting > 0),
            "oneOf" => self.some_of(says, value, |fitting| fitting == 1),
            "$ref" => self.valid(self.part(says)?, value),
            _ if NOTES.contains(&keyword) => Ok(()),
            _ => Err(format!(": the schema has the unknown keyword `{keyword}`")),
        }
    }

    fn part(&self, reference: &Value) -> Result<&Value, String> {
        let name = reference.as_str().and_then(|reference| reference.strip_prefix(PARTS));
        let part = name.and_then(|name| self.root["$defs"].get(name));
        part.ok_or_else(|| format!(": the schema has no {reference}"))
    }

    fn required(&self, names: &Value, value: &Value) -> Verdict {
        let Value::Object(object) = value else { return Ok(()) };
        let missing =
            list(names).iter().find(|name| name.as_str().is_none_or(|name| !object.contains_key(name)));
        missing.map_or(Ok(()), |name| Err(format!(": {name} is missing")))
    }

    fn properties(&self, schemas: &Value, value: &Value) -> Verdict {
        let Value::Object(object) = value else { return Ok(()) };
        let mut known = object.iter().filter_map(|(name, value)| Some((name, schemas.get(name)?, value)));
        known.try_for_each(|(name, schema, value)| self.within(format!(".{name}"), schema, value))
    }

    fn others(&self, schema: &Value, properties: Option<&Value>, value: &Value) -> Verdict {
        let Value::Object(object) = value else { return Ok(()) };
        let is_known = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
        let mut others = object.iter().filter(|(name, _)| !is_known(name));
        others.try_for_each(|(name, value)| self.within(format!(".{name}"), schema, value))
    }

    fn first_items(&self, schemas: &Value, value: &Value) -> Verdict {
        let mut both = list(schemas).iter().zip(list(value)).enumerate();
        both.try_for_each(|(place, (schema, value))| self.within(format!("[{place}]"), schema, value))
    }

    fn items(&self, schema: &Value, first: Option<&Value>, value: &Value) -> Verdict {
        let first = first.map_or(0, |first| list(first).len());
        let mut items = list(value).iter().enumerate().skip(first);
        items.try_for_each(|(place, value)| self.within(format!("[{place}]"), schema, value))
    }

    fn within(&self, place: String, schema: &Value, value: &Value) -> Verdict {
        self.valid(schema, value).map_err(|message| place + &message)
    }

    fn some_of(&self, schemas: &Value, value: &Value, is_enough: fn(usize) -> bool) -> Verdict {
        let verdicts: Vec<Verdict> = list(schemas).iter().map(|schema| self.valid(schema, value)).collect();
        if is_enough(verdicts.iter().filter(|verdict| verdict.is_ok()).count()) {
            return Ok(());
        }
        let messages: Vec<String> = verdicts.into_iter().filter_map(Result::err).collect();
        Err(format!(": the wrong number of forms match; mismatches: {}", messages.join("; ")))
    }
}

/// Returns the items of an array; empty for other values.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

/// Returns the names of types: one, or several.
fn types(says: &Value) -> Vec<&str> {
    let several = list(says).iter().filter_map(Value::as_str);
    says.as_str().into_iter().chain(several).collect()
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|value| value.fract() == 0.0)
        }
        _ => false,
    }
}

/// Schemas of one or two keywords, values that are valid, and values that are not: as the package
/// `jsonschema` decides.
const CASES: &str = r##"[
    [{ "type": "integer" }, [1, -3, 1.0, 18446744073709551615], [1.5, "1", null, [1], {}, true]],
    [{ "type": ["number", "null"] }, [1.5, 0, null], ["", false, [], {}]],
    [{ "type": "boolean" }, [true, false], [0, "", null]],
    [{ "const": "a" }, ["a"], ["b", 1, null]],
    [{ "enum": ["a", "b"] }, ["a", "b"], ["c", ["a"]]],
    [{ "minimum": 1.5 }, [1.5, 2, "no number"], [1, -2]],
    [{ "minItems": 1, "maxItems": 2 }, [[1], [1, 2], {}, 3], [[], [1, 2, 3]]],
    [{ "required": ["a"] }, [{ "a": 1 }, { "a": null, "b": 2 }, [], 1], [{}, { "b": 1 }]],
    [{ "properties": { "a": { "type": "null" } } }, [{ "a": null }, { "b": 1 }, 3], [{ "a": 1 }]],
    [{ "properties": { "a": true }, "additionalProperties": false }, [{}, { "a": 1 }], [{ "b": 1 }]],
    [{ "additionalProperties": { "type": "null" } }, [{}, { "b": null }], [{ "b": 1 }]],
    [{ "items": { "type": "null" } }, [[], [null, null], {}], [[1], [null, 1]]],
    [{ "prefixItems": [{ "type": "null" }], "items": { "type": "integer" } }, [[], [null], [null, 1]], [[1], [null, null]]],
    [{ "anyOf": [{ "type": "null" }, { "minimum": 2 }] }, [null, 2, "a"], [1]],
    [{ "oneOf": [{ "type": "integer" }, { "minimum": 2 }] }, [1, 2.5], [2, 1.5]],
    [{ "$ref": "#/$defs/a", "$defs": { "a": { "type": "null" } } }, [null], [1]]
]"##;

#[test]
fn every_keyword_takes_what_it_says_and_nothing_else() {
    let cases: Value = serde_json::from_str(CASES).unwrap();
    for case in list(&cases) {
        let [schema, good, bad] = list(case) else { panic!("three parts: {case}") };
        let validator = Validator::new(schema.clone());
        for value in list(good) {
            assert_eq!(validator.check(value), Ok(()), "{schema}, {value}");
        }
        for value in list(bad) {
            assert!(validator.check(value).is_err(), "{schema}, {value}");
        }
    }
}

#[test]
fn schemas_with_more_are_refused_with_any_value() {
    for schema in [r#"{"pattern": "a"}"#, r#"{"type": "nonsense"}"#, r##"{"$ref": "#/$defs/b"}"##, "3"] {
        let validator = Validator::new(serde_json::from_str(schema).unwrap());
        assert!(validator.check(&Value::from("a")).is_err(), "{schema}");
    }
}

#[test]
fn what_is_wrong_has_its_place() {
    let schema = serde_json::json!({ "properties": { "a": { "items": { "type": "null" } } } });
    let message = Validator::new(schema).check(&serde_json::json!({ "a": [null, 1] })).unwrap_err();
    assert_eq!(message, "value.a[1]: type \"null\", found 1");
}
