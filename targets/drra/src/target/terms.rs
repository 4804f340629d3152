//! Words of this machine's documents and reports, for `npu glossary`.

use npukit_target::Term;

/// By the alphabet.
#[rustfmt::skip] // A table.
pub const TERMS: &[Term] = &[
    Term::new("cell", &[],
        "A place of the grid: a sequencer with 16 slots for components."),
    Term::new("dpu", &["data path unit"],
        "Component with two operands and a result of 16 bits a cycle, an accumulator and four configurations (modes such as add or mac)."),
    Term::new("elaborated", &[],
        "Of a description of a fabric: with every cell, slot and component written out."),
    Term::new("epoch", &[],
        "Part of a PASM program whose operations are scheduled together, under its constraints."),
    Term::new("extension", &["+ext"],
        "Modes of the dpu that the sources name without a definition; npukit's own choice of one, which no released hardware has."),
    Term::new("fabric", &[],
        "A grid of cells with a buffer for inputs at its first row and one for outputs at its last."),
    Term::new("iosram", &["iosram_top", "iosram_btm", "iosram_both"],
        "Memory of 64 rows in a cell that exchanges rows with the input buffer (top), the output buffer (btm) or both."),
    Term::new("kernel", &[],
        "A program of all cells from one call to its end; a compiled model is a list of steps that call kernels."),
    Term::new("PASM", &[],
        "Language of operations on ports and constraints between their starts; its scheduler finds the cycles that assembly has to state."),
    Term::new("port", &[],
        "One of four address generators of a slot: once activated it makes an address a cycle by nested repetitions."),
    Term::new("revision", &[],
        "Which state of the published components a fabric is: released (the default), text, seed or later. They encode and compute differently."),
    Term::new("rf", &["register file"],
        "Component of 64 words, or 4 rows of 16, with ports for words and for rows."),
    Term::new("sequencer", &[],
        "Part of a cell that takes an instruction a cycle from up to 256: configures ports, activates them, waits and loops."),
    Term::new("slot", &[],
        "One of 16 places of a cell for components; a component takes one, two or four of them."),
    Term::new("swb", &["switchbox"],
        "Component in slot 0: the crossbar for words between the slots of a cell, and the routes for rows to its neighbours."),
];
