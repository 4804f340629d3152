//! Parameters of a [`Config`] that can be set in the name of an instance: the keys of its file.

use npukit_target::parameters::SET_BY_NAME;
use serde_json::{Value, json};

use super::{Config, System};

/// Returns types and timing model as a tree with the keys of the file, including the figures of its
/// board.
pub fn tree(config: &Config) -> Value {
    let Config { validity, types, timing, .. } = config.clone().on_its_board();
    json!({ "validity": validity, "types": types, "timing": timing })
}

/// Returns the instance with the values of the tree.
///
/// # Errors
///
/// Message for the first value that is not legal.
pub fn from_tree(config: Config, tree: Value) -> Result<Config, String> {
    let changed: Config = serde_json::from_value(tree).map_err(|error| error.to_string())?;
    changed.check().map_err(|error| error.to_string())?;
    let base = config.on_its_board();
    let clock_mhz = Some(changed.timing.clock_mhz);
    let is_same = changed.timing.clock_mhz == base.timing.clock_mhz;
    let source =
        if is_same { base.system.as_ref().map(System::source) } else { Some(SET_BY_NAME.to_owned()) };
    // Without a source of its own, the clock frequency is the timing model's.
    let system = source.map(|source| System { clock_mhz, source: Some(source), ..System::default() });
    Ok(Config { summary: base.summary, system, ..changed })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn instances_come_back_from_their_trees() {
        for name in Config::presets() {
            let config = Config::preset(name).unwrap();
            let (types, timing) = (config.types, config.timing.clone());
            let back = from_tree(config.clone(), tree(&config)).unwrap();
            assert_eq!((back.types, back.timing), (types, timing), "{name}");
        }
    }

    #[test]
    fn what_is_not_legal_is_told() {
        let message = |path: &str, value: Value| {
            let config = Config::preset("reference").unwrap();
            let mut tree = tree(&config);
            *tree.pointer_mut(path).unwrap() = value;
            from_tree(config, tree).unwrap_err()
        };
        assert_eq!(
            message("/timing/macs_per_cycle", json!(0)),
            "`timing.macs_per_cycle` is 0: legal values are 1 to 65536"
        );
        assert!(message("/types/itype", json!("int99")).contains("no type `int99`"));
    }
}
