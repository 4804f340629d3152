//! [`diagram`]: block diagram of an instance.

use npukit_target::diagram::{BlockKind, Diagram};

use crate::config::Config;

/// Buffers, units and paths of an instance, with its element types. Source: draft, sections 1.1 and
/// 2.1.
pub fn diagram(config: &Config) -> Diagram {
    let mut diagram = Diagram::default();
    let types = &config.types;
    let dram = diagram.block(BlockKind::Outside, (1, 0), "DRAM", "16 banks of 256 MiB");
    let front = diagram.block(BlockKind::Control, (2, 0), "front end", "issues in order");
    let ifm = diagram.block(BlockKind::Memory, (0, 1), "ifm buffer", format!("inputs, {}", types.itype));
    let kernels = diagram.block(BlockKind::Memory, (1, 1), "ker buffer", format!("kernels, {}", types.ktype));
    let bias = diagram.block(BlockKind::Memory, (2, 1), "bias buffer", types.btype.to_string());
    let count = config.timing.macs_per_cycle;
    let multipliers =
        diagram.block(BlockKind::Unit, (1, 2), "multipliers", format!("{count} with adder trees"));
    let sums =
        diagram.block(BlockKind::Memory, (1, 3), "ofm buffer", format!("partial sums, {}", types.otype));
    let post = diagram.block(BlockKind::Unit, (0, 3), "post-processing", "residual, activation, pool");
    diagram.path(dram, front, "instructions");
    diagram.path(dram, ifm, "ld.ifm");
    diagram.path(dram, kernels, "ld.ker");
    diagram.path(dram, bias, "ld.bias");
    diagram.path(kernels, multipliers, "");
    diagram.path(ifm, multipliers, "");
    diagram.path(bias, sums, "conv.bias");
    diagram.path(multipliers, sums, "sums");
    diagram.path(ifm, post, "residual");
    diagram.path(sums, post, "");
    diagram.path(post, dram, "store");
    diagram
}
