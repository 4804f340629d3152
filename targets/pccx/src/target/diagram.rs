//! [`diagram`]: block diagram of an instance.

use npukit_target::diagram::{BlockKind, Diagram};

use crate::config::{CONSTANT_ENTRIES, Config, Timing, WORD_BYTES};

/// Units, memories and paths of an instance, with its sizes. Source: specification, sections 3.1
/// and 3.4.
pub fn diagram(config: &Config) -> Diagram {
    let mut diagram = Diagram::default();
    let Timing { gemm, gemv, ddr_gb_per_s, weight_fifo_bytes, .. } = &config.timing;
    let shapes = format!("2 banks of {CONSTANT_ENTRIES}");
    let constants = diagram.block(BlockKind::Memory, (0, 1), "shape constants", shapes);
    let host = diagram.block(BlockKind::Outside, (1, 0), "host", "driver, instructions");
    let dispatcher = diagram.block(BlockKind::Control, (1, 1), "dispatcher", "issues in order");
    let functions = diagram.block(BlockKind::Unit, (1, 2), "CVO", "functions, BF16");
    let ddr = diagram.block(BlockKind::Outside, (2, 0), "DDR memory", format!("{ddr_gb_per_s} GB/s"));
    let words = format!("{} words of {WORD_BYTES} bytes", config.l2_words);
    let l2 = diagram.block(BlockKind::Memory, (2, 1), "L2", words);
    let array = format!("{} x {}, INT4 x INT8", gemm.rows, gemm.columns);
    let matrix = diagram.block(BlockKind::Unit, (2, 2), "GEMM", array);
    let (ports, size) = (gemm.ports + gemv.ports, weight_fifo_bytes / 1024);
    let fifos = diagram.block(BlockKind::Memory, (3, 1), "weight FIFOs", format!("{ports} of {size} KiB"));
    let lanes = format!("{} lanes of {}", gemv.lanes, gemv.lane_width);
    let vector = diagram.block(BlockKind::Unit, (3, 2), "GEMV", lanes);
    diagram.path(host, dispatcher, "instructions");
    diagram.path(dispatcher, constants, "MEMSET");
    diagram.path(dispatcher, l2, "control");
    diagram.both_ways(ddr, l2, "MEMCPY");
    diagram.path(ddr, fifos, "weights");
    diagram.both_ways(l2, functions, "");
    diagram.both_ways(l2, matrix, "activations");
    diagram.both_ways(l2, vector, "");
    diagram.path(fifos, vector, "weights");
    diagram.path(fifos, matrix, "");
    diagram
}
