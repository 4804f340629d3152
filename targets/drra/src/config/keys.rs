//! [`misspelt`]: unknown keys of architecture JSON that resemble known ones.
//!
//! Upstream's files have many keys that npukit does not read (bus widths, descriptions, an
//! instruction set). Only keys that resemble a known one are reported.

use npukit_base::closest;
use serde_json::Value;

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
/// Keys of both forms (specification 6.3), and upstream's keys that npukit does not read.
const KEYS: [&str; 40] = [
    "platform", "resources", "controllers", "cells", "fabric", "interface", "options", "name", "kind", "size",
    "custom_properties", "value", "controller", "resource_list", "height", "width", "cells_list", "coordinates",
    "cell_name", "row", "col", "input_buffer_depth", "output_buffer_depth", "parameters", "cell", "io_input",
    "io_output", "resources_list", "slot", "format", "components", "component_type", "instructions", "isa",
    "description", "comment", "version", "required_parameters", "system", "systems",
];

#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
/// Parameters that npukit reads, and parameters of upstream's template.
const PARAMETERS: [&str; 16] = [
    "ROWS", "COLS", "INSTR_ADDR_WIDTH", "IRAM_DEPTH", "RF_DEPTH", "SRAM_ADDR_WIDTH", "FRACTIONAL_BITWIDTH",
    "IO_DATA_WIDTH", "IO_ADDR_WIDTH", "RESOURCE_INSTR_WIDTH", "INSTR_DATA_WIDTH", "INSTR_HOPS_WIDTH",
    "INSTR_OPCODE_BITWIDTH", "BULK_WIDTH", "INSTR_PAYLOAD_BITWIDTH", "SRAM_DEPTH",
];

/// Returns a warning for each key or parameter that resembles a known one, in file order.
pub fn misspelt(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Text that is not JSON is reported by the caller's parser.
    if let Ok(file) = serde_json::from_str(text) {
        walk(&file, &mut found);
    }
    found.dedup();
    found
}

fn walk(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| walk(value, found)),
        Value::Object(entries) => {
            for (key, value) in entries {
                found.extend(almost(key, &KEYS));
                match value {
                    Value::Object(numbers) if key == "parameters" => {
                        found.extend(numbers.keys().filter_map(|name| almost(name, &PARAMETERS)));
                    }
                    Value::Array(properties) if key == "custom_properties" => {
                        let names = properties.iter().filter_map(|property| property.get("name")?.as_str());
                        found.extend(names.filter_map(|name| almost(name, &PARAMETERS)));
                    }
                    // The reader of npukit's own sections refuses unknown keys, so the walk skips
                    // these sections.
                    Value::Object(_) if ["options", "system", "systems"].contains(&key.as_str()) => {}
                    value => walk(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Largest difference in length between a misspelled name and the intended one.
const SLIPS: usize = 2;

fn almost(name: &str, known: &[&str]) -> Option<String> {
    let near = known.iter().copied().filter(|key| key.len().abs_diff(name.len()) <= SLIPS);
    let meant = closest(name, near).filter(|_| !known.contains(&name))?;
    Some(format!("`{name}` is not an architecture key and is ignored; did you mean `{meant}`?"))
}

#[cfg(test)]
mod tests {
    use super::misspelt;

    #[test]
    fn what_is_almost_a_key_is_told_and_other_additions_are_not() {
        let text = r#"{"platfrom": "drra", "isa_description": 1, "fabric": {"widht": 1,
            "custom_properties": [{"name": "RF_DETPH", "value": 4}, {"name": "MY_OWN", "value": 4}]}}"#;
        let warnings = misspelt(text);
        for (key, meant) in [("platfrom", "platform"), ("widht", "width"), ("RF_DETPH", "RF_DEPTH")] {
            let line = format!("`{key}` is not an architecture key and is ignored; did you mean `{meant}`?");
            assert!(warnings.contains(&line), "{warnings:?}");
        }
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(misspelt("{").is_empty());
    }

    #[test]
    fn the_presets_hold_nothing_of_the_kind() {
        for (name, _, text) in crate::config::PRESETS {
            assert!(misspelt(text).is_empty(), "{name}");
        }
    }
}
