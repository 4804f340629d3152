//! [`read`]: a row of the table as the seed's text has it to the letter.

use npukit_isa::{FieldKind, InstructionSpec, Radix};

/// What the seed's text says of a field: instruction, field, meaning.
#[rustfmt::skip] // A table.
const FIELDS: [(&str, &str, &str); 14] = [
    ("wait", "cycle", "cycles it takes, less one; of mode events the slots, a bit each"),
    ("act", "param", "first slot, port of each slot or first register, by `mode`"),
    ("calc", "operand1", "scalar register; of and, or and not a flag register"),
    ("calc", "operand2_sd", "whether `operand2` names a register"),
    ("calc", "operand2", "number or register, as `operand1`"),
    ("calc", "result", "scalar register; of eq to le, and, or and not a flag register"),
    ("brn", "reg", "flag register"),
    ("brn", "target_true", "distance from this instruction if it is set"),
    ("brn", "target_false", "distance from this instruction if it is not set"),
    ("dsu", "option", "which of the four configurations of the port"),
    ("dsu", "init_addr_sd", "whether `init_addr` names a scalar register"),
    ("dsu", "init_addr", "first address, or the scalar register that holds it"),
    ("rep", "step", "what is added to the address each time"),
    ("repx", "step", "the high bits of the step; all of both is in two's complement"),
];

/// What instructions do.
const ROWS: [(&str, &str); 3] = [
    ("wait", "takes `cycle` + 1 cycles, or waits for the events of slots"),
    ("brn", "goes on at a distance from itself, by whether a flag is set"),
    ("dsu", "opens a lane of a configuration of the port at an address"),
];

/// Changes a row to what the seed's text says of it.
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
