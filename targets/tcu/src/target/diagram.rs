//! [`diagram`]: block diagram of an instance.

use npukit_target::diagram::{BlockKind, Diagram};

use crate::config::Config;

/// Units, memories and paths of an instance, with its sizes. Vectors have `array_size` numbers.
pub fn diagram(config: &Config) -> Diagram {
    let mut diagram = Diagram::default();
    let size = config.array_size;
    let vectors = |depth: u64| format!("{depth} vectors of {size}");
    let plural = |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    let host = diagram.block(BlockKind::Outside, (0, 0), "host", "driver, instructions");
    let decoder =
        diagram.block(BlockKind::Control, (0, 1), "decoder", plural(config.number_of_threads, "thread"));
    let dram0 = diagram.block(BlockKind::Outside, (1, 0), "DRAM0", "activations");
    let dram1 = diagram.block(BlockKind::Outside, (2, 0), "DRAM1", "constants");
    let local = diagram.block(BlockKind::Memory, (1, 1), "local memory", vectors(config.local_depth));
    let format = config.data_type.name();
    let array =
        diagram.block(BlockKind::Unit, (1, 2), "systolic array", format!("{size} x {size}, {format}"));
    let sums = diagram.block(BlockKind::Memory, (2, 2), "accumulators", vectors(config.accumulator_depth));
    let registers = plural(config.simd_registers_depth, "register");
    let alu = diagram.block(BlockKind::Unit, (3, 2), "SIMD ALU", format!("{size} lanes, {registers}"));
    diagram.path(host, decoder, "instructions");
    diagram.both_ways(host, dram0, "");
    diagram.both_ways(dram0, local, "activations");
    diagram.path(decoder, local, "control");
    diagram.both_ways(dram1, local, "constants");
    diagram.path(local, array, "operands");
    diagram.path(array, sums, "sums");
    diagram.both_ways(local, sums, "moves");
    diagram.both_ways(sums, alu, "operands, results");
    if config.has_lookup() {
        let tables = plural(config.lookup_tables, "table");
        let tables = diagram.block(BlockKind::Memory, (3, 1), "lookup memory", tables);
        diagram.path(tables, alu, "values");
    }
    diagram
}
