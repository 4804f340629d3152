//! Keys of architecture JSON that nobody reads: [`misspelt`] finds those that are almost ones we read.
//!
//! Upstream's files hold more than we read (widths of buses, descriptions, an instruction set), which is none of a
//! reader's business. What is spelt almost like a key that is read was meant to be read.

use npukit_base::closest;
use serde_json::Value;

#[rustfmt::skip] // A table.
/// Keys of either form (specification 6.3), and upstream's own that we do not read.
const KEYS: [&str; 40] = [
    "platform", "resources", "controllers", "cells", "fabric", "interface", "options", "name", "kind", "size",
    "custom_properties", "value", "controller", "resource_list", "height", "width", "cells_list", "coordinates",
    "cell_name", "row", "col", "input_buffer_depth", "output_buffer_depth", "parameters", "cell", "io_input",
    "io_output", "resources_list", "slot", "format", "components", "component_type", "instructions", "isa",
    "description", "comment", "version", "required_parameters", "system", "systems",
];

#[rustfmt::skip] // A table.
/// Parameters that we read, and those of upstream's template.
const PARAMETERS: [&str; 16] = [
    "ROWS", "COLS", "INSTR_ADDR_WIDTH", "IRAM_DEPTH", "RF_DEPTH", "SRAM_ADDR_WIDTH", "FRACTIONAL_BITWIDTH",
    "IO_DATA_WIDTH", "IO_ADDR_WIDTH", "RESOURCE_INSTR_WIDTH", "INSTR_DATA_WIDTH", "INSTR_HOPS_WIDTH",
    "INSTR_OPCODE_BITWIDTH", "BULK_WIDTH", "INSTR_PAYLOAD_BITWIDTH", "SRAM_DEPTH",
];

/// A warning for each key and each parameter that is almost one we know, in the order of the file.
pub fn misspelt(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Whoever reads the file reports text that is not JSON.
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
                    // Ours, whose keys are all read or refused.
                    Value::Object(_) if ["options", "system", "systems"].contains(&key.as_str()) => {}
                    value => walk(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Letters by which a misspelt name is longer or shorter at the most: beyond that it is another name.
const SLIPS: usize = 2;

fn almost(name: &str, known: &[&str]) -> Option<String> {
    let near = known.iter().copied().filter(|key| key.len().abs_diff(name.len()) <= SLIPS);
    let meant = closest(name, near).filter(|_| !known.contains(&name))?;
    Some(format!("`{name}` is no key of an architecture and is ignored: `{meant}` is meant, perhaps"))
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
            let line =
                format!("`{key}` is no key of an architecture and is ignored: `{meant}` is meant, perhaps");
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
