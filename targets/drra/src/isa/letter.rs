//! [`read`]: changes a table row to the letter of the ISA document.

use npukit_isa::{FieldKind, InstructionSpec, Radix};

/// Fields in the ISA document: instruction, field, meaning.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const FIELDS: [(&str, &str, &str); 14] = [
    ("wait", "cycle", "number of cycles minus one; in mode events a mask of slots"),
    ("act", "param", "first slot, port of each slot or first register, by `mode`"),
    ("calc", "operand1", "scalar register; flag register for and, or and not"),
    ("calc", "operand2_sd", "whether `operand2` names a register"),
    ("calc", "operand2", "number or register, like `operand1`"),
    ("calc", "result", "scalar register; flag register for eq to le, and, or and not"),
    ("brn", "reg", "flag register"),
    ("brn", "target_true", "distance from this instruction if the flag is set"),
    ("brn", "target_false", "distance from this instruction if the flag is not set"),
    ("dsu", "option", "configuration number of the port"),
    ("dsu", "init_addr_sd", "whether `init_addr` names a scalar register"),
    ("dsu", "init_addr", "first address, or the scalar register that holds it"),
    ("rep", "step", "added to the address in each repetition"),
    ("repx", "step", "high bits of the step; the whole step is in two's complement"),
];

/// Instructions in the ISA document: name, meaning.
const ROWS: [(&str, &str); 3] = [
    ("wait", "takes `cycle` + 1 cycles, or waits for the events of slots"),
    ("brn", "branches to a distance from itself, depending on a flag"),
    ("dsu", "opens a lane of a configuration of the port at an address"),
];

/// Changes a row to its description in the ISA document.
pub(super) fn read(row: &mut InstructionSpec) {
    if let Some((_, meaning)) = ROWS.iter().find(|(name, _)| *name == row.name) {
        row.meaning = (*meaning).to_owned();
    }
    for field in &mut row.fields {
        let said = FIELDS.iter().find(|(name, of, _)| *name == row.name && *of == field.name);
        if let Some((_, _, meaning)) = said {
            field.meaning = (*meaning).to_owned();
        }
        if row.name == "rep" && field.name == "step" {
            field.kind = FieldKind::up_to(field.bits.max(), Radix::Decimal);
        }
    }
}
