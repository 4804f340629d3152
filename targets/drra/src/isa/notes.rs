//! [`note`]: what a fabric makes of an instruction, where its row does not say it.

use npukit_isa::InstructionSpec;

use crate::revision::Revision;

/// Adds to a row what the components of a revision do.
pub(super) fn note(row: &mut InstructionSpec, revision: Revision) {
    let note = match row.name.as_str() {
        "calc" => "`lls` saturates, so that 1 << 15 is 32767; `lrs` keeps the sign: -5 >> 3 is -1.",
        "brn" if revision.is_released() => {
            "The released components ignore it: the next instruction follows. Fabrics with `+text` or `+seed` branch."
        }
        "dsu" if !revision.is_seed() => {
            "`option` is ignored, as a port has one configuration; with `+seed` it has four."
        }
        _ => return,
    };
    note.clone_into(&mut row.doc);
}
