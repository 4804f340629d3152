//! Hints how to correct a fault: [`FaultKind::hint`].

use crate::config::Validity;
use crate::isa::fault::FaultKind;
use crate::isa::op::Op;

impl FaultKind {
    /// Returns the legal values or what to do about the fault.
    pub fn hint(&self) -> String {
        match self {
            Self::ReservedOpcode { .. } => format!("opcodes are {}", opcodes()),
            Self::OperandInvalid { instruction, .. } => {
                format!("`npu isa opu {instruction}` lists the legal values")
            }
            Self::ShapeInvalid { least, .. } => {
                format!(
                    "legal are sides of 1 to 127, at most 2048 pixels, and a power of two from {least} to 64 as channels"
                )
            }
            Self::KerNInvalid { .. } => "use 1 to 36 slices; load larger kernels in parts".to_owned(),
            Self::MemInvalid { .. } => "legal values are 1 to 1023".to_owned(),
            Self::StrideInvalid { .. } => "steps are 1 to 7".to_owned(),
            Self::PostInvalid { .. } => {
                "order 1 needs an activation and the residual, order 2 the residual".to_owned()
            }
            Self::PoolInvalid { .. } => "sizes and steps must be at least 1; `@pool [1,1], [1,1]` turns pooling off".to_owned(),
            Self::UndefinedRegister { set_by, .. } => format!("set it with `{set_by}` first"),
            Self::BufferInvalid { buffer, .. } => buffer.remedy().to_owned(),
            Self::KerCapacity { largest, .. } => {
                format!("load {largest} slices at a time: `@shape.ker` does not change the partial sums")
            }
            Self::KerIndex { ker_n, .. } => format!("slices are 0 to {}", ker_n.saturating_sub(1)),
            Self::ConvBounds { .. } => {
                "load a larger ifm tile, or reduce the ofm tile or the tap's offset".to_owned()
            }
            Self::ConvDraft { .. } => {
                "reduce the tile, the step or the offset, or use an instance without `+draft` and `+seed`, which applies the corrected condition"
                    .to_owned()
            }
            Self::PoolBounds { .. } => "make the window smaller, or the ofm tile larger".to_owned(),
            Self::ResidualShape { .. } => {
                "load the other operand into ifm, in the shape of the result".to_owned()
            }
            Self::PadBounds { h, w, .. } => format!("legal values are 0 to {}", h.min(w)),
            Self::AddressRange { .. } => "addresses do not wrap: choose a lower bank or address".to_owned(),
            Self::Unwritten { .. } => {
                "write it first with `store` or `pad`, or add it to a segment or an input of the artifact".to_owned()
            }
            Self::NonFinite { .. } => "the machine computes with finite numbers only: replace it".to_owned(),
            Self::MissingEnd { .. } => "put `end` after the last instruction".to_owned(),
        }
    }
}

/// Lists the opcodes that have a meaning: `0 to 8 and 16 to 26`.
fn opcodes() -> String {
    let mut ranges: Vec<std::ops::RangeInclusive<u64>> = Vec::new();
    let rows = Op::rows(Validity::Corrected);
    for opcode in rows.iter().filter_map(|row| row.patterns.first()).map(|pattern| pattern.value) {
        match ranges.last_mut() {
            Some(range) if opcode <= range.end() + 1 => *range = *range.start()..=opcode,
            _ => ranges.push(opcode..=opcode),
        }
    }
    let text = |range: &std::ops::RangeInclusive<u64>| match range.start() == range.end() {
        true => range.start().to_string(),
        false => format!("{} to {}", range.start(), range.end()),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(" and ")
}
