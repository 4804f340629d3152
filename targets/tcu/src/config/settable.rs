//! Parameters of a [`Board`] that can be set in the name of an instance: the keys of its file.

use npukit_target::parameters::{SET_BY_NAME, without_nulls};
use serde_json::{Value, json};

use super::tarch::{self, ConfigError};
use super::{Board, Config, System};

/// Returns architecture and system with the keys of a file.
pub fn tree(config: &Config, system: &System) -> Value {
    let mut tree = tarch::all_keys(config);
    let System { clock_mhz, axi_width_bits, dram_latency_cycles, dram_write_latency_cycles, .. } = system;
    tree["system"] = json!({
        "clock_mhz": clock_mhz,
        "axi_width_bits": axi_width_bits,
        "dram_latency_cycles": dram_latency_cycles,
        "dram_write_latency_cycles": dram_write_latency_cycles,
        "dram0_cache": system.dram0_cache,
        "dram1_cache": system.dram1_cache,
    });
    tree
}

/// Returns architecture and system as the text of a file.
pub fn text(config: &Config, system: &System) -> String {
    let mut file = serde_json::to_value(config).unwrap_or_default();
    if *system != System::OPEN {
        file["system"] = serde_json::to_value(system).unwrap_or_default();
    }
    format!("{file:#}\n")
}

/// Returns the board with the values of the tree.
///
/// # Errors
///
/// Every fault of a file with these keys.
pub fn from_tree(board: Board, tree: Value) -> Result<Board, String> {
    let text = without_nulls(tree).to_string();
    let (mut changed, _) = Board::from_json(&text).map_err(|errors| {
        // The user never sees this text, so its line and column are omitted.
        let sentence = |error: &ConfigError| match error {
            ConfigError::System { message, .. } => message.clone(),
            other => other.to_string(),
        };
        errors.0.iter().map(sentence).collect::<Vec<_>>().join("; ")
    })?;
    let (old, new) = (board.system, &mut changed.system);
    let set = || Some(SET_BY_NAME.to_owned());
    new.source = if new.clock_mhz == old.clock_mhz { old.source.clone() } else { set() };
    let is_same_memory = (new.axi_width_bits, new.dram_latency_cycles, new.dram_write_latency_cycles)
        == (old.axi_width_bits, old.dram_latency_cycles, old.dram_write_latency_cycles);
    new.memory_source = if is_same_memory { old.memory_source.or(old.source) } else { set() };
    Ok(Board { systems: board.systems, ..changed })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn boards_come_back_from_their_trees() {
        for name in Config::presets() {
            let board = Board::preset(name).unwrap();
            let Board { config, system, .. } =
                from_tree(board.clone(), tree(&board.config, &board.system)).unwrap();
            let stated = |system: &System| (system.summary(), system.clock_source(), system.stated_memory());
            assert_eq!((config, stated(&system)), (board.config, stated(&board.system)), "{name}");
        }
    }

    #[test]
    fn boards_come_back_from_their_files() {
        for name in Config::presets() {
            let board = Board::preset(name).unwrap();
            let (back, warnings) = Board::from_json(&text(&board.config, &board.system)).unwrap();
            assert_eq!((back.config, back.system, warnings), (board.config, board.system, vec![]), "{name}");
        }
    }

    #[test]
    fn who_says_the_clock_is_told() {
        let board = Board::preset("ultra96v2").unwrap();
        let mut changed = tree(&board.config, &board.system);
        changed["system"]["clock_mhz"] = json!(150);
        let board = from_tree(board, changed).unwrap();
        assert_eq!(board.system.clock_mhz, Some(150.0));
        assert_eq!(board.system.clock_source().unwrap(), SET_BY_NAME);
    }

    #[test]
    fn what_is_not_legal_is_told() {
        let board = Board::preset("ultra96v2").unwrap();
        let mut bad = tree(&board.config, &board.system);
        bad["array_size"] = json!(0);
        bad["stride0_depth"] = json!(33);
        let message = from_tree(board.clone(), bad).unwrap_err();
        let wanted =
            "`array_size` is 0, but must be an integer from 1 to 1024; `stride0_depth` is 33, but must be";
        assert!(message.starts_with(wanted), "{message}");
        let mut bad = tree(&board.config, &board.system);
        bad["system"]["axi_width_bits"] = json!(4);
        let message = from_tree(board, bad).unwrap_err();
        assert!(
            message.contains("a whole number from 8 to 1024 for `axi_width_bits`")
                && !message.contains("line"),
            "{message}"
        );
    }
}
