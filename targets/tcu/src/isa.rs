//! The instruction set as documentation and assembly text: [`isa()`]. Its rows are in
//! [`crate::isa::op`].

pub(crate) mod check;
pub(crate) mod codec;
pub(crate) mod fault;
pub(crate) mod kind;
pub(crate) mod listing;
pub(crate) mod op;

use npukit_isa::{ByteOrder, Field, FieldKind, InstructionSpec, IsaSpec};

use crate::config::Config;
use crate::isa::op::{Format, Op};

/// Returns the instruction set of `config`, which must pass [`Config::check`].
///
/// Source: specification 3.1 to 3.3, 3.6 and 9.8.
pub fn isa(config: &Config) -> IsaSpec {
    let format = Format::new(config);
    let (n, bytes, data_type) = (config.array_size, format.instruction_bytes, config.data_type.name());
    let mut instructions = Op::rows(&format);
    if format.has_threads() {
        instructions.iter_mut().for_each(|row| issue(row, &format));
    }
    IsaSpec {
        name: format!("TCU, {n}x{n} array of {data_type}, {bytes}-byte instructions"),
        doc: DOC.to_owned(),
        byte_order: ByteOrder::Little,
        instructions,
    }
}

const DOC: &str = "Addresses and sizes are in vectors of N scalars. Element i of a strided address is at \
                   address + i * 2^stride. The stored size is the size minus one.";

/// Adds the thread that issues an instruction.
fn issue(row: &mut InstructionSpec, format: &Format) {
    let thread = Field::new("thread", format.tid, FieldKind::flag(".t1"), "issued by thread 1");
    row.fields.insert(0, thread);
}
