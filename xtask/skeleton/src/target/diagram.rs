//! [`diagram`]: block diagram of an instance.

use npukit_target::diagram::{BlockKind, Diagram};

use crate::config::Config;

/// Memory, unit and paths of an instance, with its sizes.
pub fn diagram(config: &Config) -> Diagram {
    let mut diagram = Diagram::default();
    let host = diagram.block(BlockKind::Outside, (0, 0), "host", "inputs, instructions");
    let words = format!("{} numbers of 16 bits", config.memory_words);
    let memory = diagram.block(BlockKind::Memory, (0, 1), "memory", words);
    let unit = diagram.block(BlockKind::Unit, (0, 2), "vector unit", format!("{} lanes", config.lanes));
    diagram.both_ways(host, memory, "data");
    diagram.both_ways(memory, unit, "operands");
    diagram
}
