//! Terms of this target's documents and reports, for `npu explain`.

use npukit_target::Term;

/// Terms in alphabetical order.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
pub const TERMS: &[Term] = &[
    Term::new("cell", &[],
        "Element of the fabric's grid: a sequencer with 16 slots for components."),
    Term::new("dpu", &["data path unit"],
        "Component that processes two 16-bit operands to a 16-bit result per cycle, with an accumulator and four configurations (modes such as add or mac)."),
    Term::new("elaborated", &[],
        "Description of a fabric in which every cell, slot and component is written out."),
    Term::new("epoch", &[],
        "Part of a PASM program whose operations are scheduled together, under its constraints."),
    Term::new("extension", &["+ext"],
        "Modes of the dpu that the sources name without a definition. npukit defines them; no released hardware has them."),
    Term::new("fabric", &[],
        "A grid of cells with a buffer for inputs at its first row and one for outputs at its last. Behind cycles, it names the cost model: the clock of all cells, without the time in which buffers are filled."),
    Term::new("input buffer", &["output buffer"],
        "Memory above the first row of cells, which the host fills with inputs before a call; the output buffer below the last row holds the results. Their sizes count rows of 16 words."),
    Term::new("iosram", &["iosram_top", "iosram_btm", "iosram_both"],
        "Memory of 64 rows in a cell, which exchanges rows with the input buffer (top), the output buffer (btm) or both."),
    Term::new("kernel", &[],
        "A program of all cells from one call to its end; a compiled model is a list of steps that call kernels. `mac_64x10` is the kernel with mode mac for 64 results of 10 words each."),
    Term::new("mode", &["mac_inter", "mac_nest", "add", "add_const", "subt", "mult", "mult_const", "relu", "lk_relu", "max_min", "max_min_acc", "max_min_const", "scale_dw", "scale_up", "ld_acc", "sigm", "tanhyp", "expon", "div", "acc_softmax", "div_softmax"],
        "Operation of the dpu, by which kernels are named: `mac` multiplies and adds up, `add` and `mult` take two operands, `relu` replaces negative numbers by 0. `npu isa drra dpu` has the formula of each. `nest` names another order of the loops."),
    Term::new("PASM", &[],
        "Language of operations on ports and constraints between their starts. Its scheduler finds the cycles, which assembly must state."),
    Term::new("port", &[],
        "One of four address generators of a slot. An active port gives up to one address per cycle, by nested repetitions."),
    Term::new("revision", &[],
        "Version of the published components that a fabric follows: released (the default), text, seed or later. Their encodings and results differ."),
    Term::new("rf", &["register file"],
        "Component of 64 words, or 4 rows of 16, with ports for words and for rows."),
    Term::new("sequencer", &["instructions of a cell"],
        "Part of a cell that executes one instruction per cycle, of up to 256: it configures and activates ports, waits and loops."),
    Term::new("slot", &[],
        "One of 16 positions of a cell for components; a component occupies one, two or four of them."),
    Term::new("swb", &["switchbox"],
        "Component in slot 0: the crossbar for words between the slots of a cell, and the routes for rows to neighboring cells."),
    Term::new("utilization", &[],
        "Words that dpus process, also for padding, sums and activations, divided by columns x cycles. The MACs of a layer are these words."),
];
