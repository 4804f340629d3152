//! The instruction set as people read and write it: [`isa()`] gives the [`IsaSpec`] of an instance.
//!
//! The assembler, the disassembler and the reference page come from this table; the machine uses
//! [`crate::codec`], and a property test keeps the two in agreement.

use npukit_base::BitRange;
use npukit_isa::{ByteOrder, FieldKind, InstructionSpec, IsaSpec, Radix};

use crate::check::CVO_HARDWARE_LENGTH;
use crate::codec::fields::{self, OPCODE};
use crate::codec::{INSTRUCTION_BYTES, KICK_MARKER, opcode};
use crate::config::Config;
use crate::op::CvoFunc;

/// The instruction set of `config`. Source: specification 2.1 to 2.4.
pub fn isa(config: &Config) -> IsaSpec {
    let functions = CvoFunc::ALL.into_iter().filter(|function| config.extensions || !function.is_extension());
    let name = match config.extensions {
        true => "pccx v002 with extensions, 64-bit instructions",
        false => "pccx v002, 64-bit instructions",
    };
    IsaSpec {
        name: name.to_owned(),
        doc: DOC.to_owned(),
        byte_order: ByteOrder::Little,
        instructions: vec![
            mac("GEMV", opcode::GEMV, "gemv", "Multiplies the next bound matrix of weights by a vector."),
            mac("GEMM", opcode::GEMM, "gemm", "Multiplies the next bound matrix of weights by M vectors."),
            memcpy(),
            memset(),
            cvo(functions),
            kick(),
        ],
    }
}

const DOC: &str = "Addresses count L2 words of 128 bits, eight BF16 values each. Entries are those of the two \
                   constant banks, 64 each. Operands with a name may stand in any order.";

fn row(name: &str, opcode: u64, meaning: &str) -> InstructionSpec {
    InstructionSpec::new(name, INSTRUCTION_BYTES, meaning)
        .with_pattern("opcode", OPCODE, opcode)
        .with_reserved_operand("rsv")
}

fn number(bits: BitRange, radix: Radix) -> FieldKind {
    FieldKind::up_to(bits.max(), radix)
}

fn mac(name: &str, opcode: u64, mnemonic: &str, meaning: &str) -> InstructionSpec {
    use fields::mac::*;
    let flags = [(2, "findemax"), (1, "accm"), (0, "w_scale")];
    row(name, opcode, meaning)
        .with_field("dest_reg", DEST_REG, number(DEST_REG, Radix::Hexadecimal), "where the result goes")
        .with_field("src_addr", SRC_ADDR, number(SRC_ADDR, Radix::Hexadecimal), "where the activation is")
        .with_field("flags", FLAGS, FieldKind::set(flags), "what is done beside the product")
        .with_field(
            "size_ptr_addr",
            SIZE_PTR_ADDR,
            number(SIZE_PTR_ADDR, Radix::Decimal),
            "weight entry (T, N, K)",
        )
        .with_field(
            "shape_ptr_addr",
            SHAPE_PTR_ADDR,
            number(SHAPE_PTR_ADDR, Radix::Decimal),
            "fmap entry (M, 1, K)",
        )
        .with_field(
            "parallel_lane",
            PARALLEL_LANE,
            number(PARALLEL_LANE, Radix::Decimal),
            "lanes used, 0 for all; time only",
        )
        .with_form(
            &format!(
                "{mnemonic} (*dst={{dest_reg}}; src={{src_addr}}; size={{size_ptr_addr}}; \
                      shape={{shape_ptr_addr}}; lanes={{parallel_lane}}?; flags={{flags}}?*)"
            ),
            Vec::new(),
        )
        .with_doc(
            "findemax puts the largest result into e_max, accm adds to the destination, w_scale multiplies \
                   each row by its scale.",
        )
}

fn memcpy() -> InstructionSpec {
    use fields::memcpy::*;
    let device = || FieldKind::choice(["l2", "host"]);
    row("MEMCPY", opcode::MEMCPY, "Moves words between L2 and the host, or within L2.")
        .with_field("from_device", FROM_DEVICE, device(), "where from")
        .with_field("to_device", TO_DEVICE, device(), "where to; host to host is an error of the machine")
        .with_field(
            "dest_addr",
            DEST_ADDR,
            number(DEST_ADDR, Radix::Hexadecimal),
            "in L2; towards the host its window",
        )
        .with_field(
            "src_addr",
            SRC_ADDR,
            number(SRC_ADDR, Radix::Hexadecimal),
            "in L2; from the host its window",
        )
        .with_field(
            "aux_addr",
            AUX_ADDR,
            number(AUX_ADDR, Radix::Hexadecimal),
            "place in the window, units of 16 bytes",
        )
        .with_field(
            "shape_ptr_addr",
            SHAPE_PTR_ADDR,
            number(SHAPE_PTR_ADDR, Radix::Decimal),
            "fmap entry: X*Y*Z values",
        )
        .with_field("async", ASYNC, FieldKind::flag("async"), "the next instruction need not wait")
        .with_form(
            "memcpy {from_device}->{to_device}, (*dst={dest_addr}?; src={src_addr}?; aux={aux_addr}?; \
             shape={shape_ptr_addr}; {async}?*)",
            Vec::new(),
        )
}

fn memset() -> InstructionSpec {
    use fields::memset::*;
    row("MEMSET", opcode::MEMSET, "Writes an entry of a constant bank.")
        .with_field("dest_cache", DEST_CACHE, FieldKind::choice(["fmap", "weight"]), "bank")
        .with_field("dest_addr", DEST_ADDR, number(DEST_ADDR, Radix::Decimal), "entry")
        .with_field("a_value", A_VALUE, number(A_VALUE, Radix::Decimal), "X: M, or T")
        .with_field("b_value", B_VALUE, number(B_VALUE, Radix::Decimal), "Y: 1, or N")
        .with_field("c_value", C_VALUE, number(C_VALUE, Radix::Decimal), "Z: K")
        .with_form(
            "memset (*cache={dest_cache}; idx={dest_addr}; a={a_value}; b={b_value}; c={c_value}*)",
            Vec::new(),
        )
        .with_label_field("dest_addr")
        .with_doc("A label before it stands for its entry.")
}

fn cvo(functions: impl Iterator<Item = CvoFunc>) -> InstructionSpec {
    use fields::cvo::*;
    let flags = [(2, "sub_emax"), (1, "recip_scale"), (0, "accm")];
    row("CVO", opcode::CVO, "Computes a special function of a vector.")
        .with_field("cvo_func", CVO_FUNC, FieldKind::choice(functions.map(CvoFunc::name)), "function")
        .with_field(
            "src_addr",
            SRC_ADDR,
            number(SRC_ADDR, Radix::Hexadecimal),
            "source; of scale the scalar, the vector follows",
        )
        .with_field("dst_addr", DST_ADDR, number(DST_ADDR, Radix::Hexadecimal), "destination")
        .with_field("length", LENGTH, number(LENGTH, Radix::Decimal), "elements")
        .with_field("flags", FLAGS, FieldKind::set(flags), "what is done beside")
        .with_field("async", ASYNC, FieldKind::flag("async"), "the next instruction need not wait")
        .with_form(
            "cvo {cvo_func}, (*src={src_addr}; dst={dst_addr}; len={length}; flags={flags}?; {async}?*)",
            Vec::new(),
        )
        .with_doc(&format!(
            "sub_emax takes e_max off the input, recip_scale makes scale divide, accm adds to the \
                            destination. Hardware takes {CVO_HARDWARE_LENGTH} elements at most."
        ))
}

fn kick() -> InstructionSpec {
    let all = BitRange::new(0, u64::BITS);
    InstructionSpec::new("KICK", INSTRUCTION_BYTES, "The host's marker: does nothing.")
        .with_pattern("marker", all, KICK_MARKER)
        .with_form("kick", Vec::new())
}
