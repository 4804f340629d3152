//! Parameters of a [`Config`] that the name of an instance can set: the keys of its file.

use npukit_target::parameters::SET_BY_NAME;
use serde_json::{Value, json};

use super::{Config, System};

/// Returns the parameters as keys of a file, including the values that the board overrides.
pub fn tree(config: &Config) -> Value {
    let Config { profile, extensions, strict, lane_mask, reading, l2_words, timing, .. } =
        config.clone().on_its_board();
    json!({
        "profile": profile,
        "extensions": extensions,
        "strict": strict,
        "lane_mask": lane_mask,
        "reading": reading,
        "l2_words": l2_words,
        "timing": timing,
    })
}

/// Returns the instance with the parameters of the tree.
///
/// # Errors
/// The first illegal value.
pub fn from_tree(config: Config, tree: Value) -> Result<Config, String> {
    let changed: Config = serde_json::from_value(tree).map_err(|error| error.to_string())?;
    changed.check().map_err(|error| error.to_string())?;
    let base = config.on_its_board();
    let is_same = changed.timing.core_mhz == base.timing.core_mhz;
    let stated = base.system.and_then(|system| system.clock_source());
    // Without a source of its own, the clock frequency is the cycle model's.
    let source = if is_same { stated } else { Some(SET_BY_NAME.to_owned()) };
    let core_mhz = Some(changed.timing.core_mhz);
    let system = source.map(|source| System { core_mhz, source: Some(source), ..System::default() });
    Ok(Config { system, ..changed })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn instances_come_back_from_their_trees() {
        for name in Config::presets() {
            let config = Config::preset(name).unwrap();
            let back = from_tree(config.clone(), tree(&config)).unwrap();
            assert_eq!(back.on_its_board().timing, config.clone().on_its_board().timing, "{name}");
            assert_eq!(tree(&back_without_system(&config)), tree(&config), "{name}");
        }
    }

    fn back_without_system(config: &Config) -> Config {
        Config { system: None, ..from_tree(config.clone(), tree(config)).unwrap() }
    }

    #[test]
    fn what_is_not_legal_is_told() {
        let config = Config::preset("reference").unwrap();
        let mut bad = tree(&config);
        bad["timing"]["gemv"]["lanes"] = json!(0);
        assert!(from_tree(config, bad).unwrap_err().starts_with("`timing.gemv.lanes` is 0: legal are"));
    }
}
