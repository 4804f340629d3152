//! Finding that corresponds to a fault: [`FaultKind::lint`].

use npukit_target::Lint;

use crate::check::lints::*;
use crate::isa::fault::FaultKind;

impl FaultKind {
    /// Returns the kind's name, as the specification spells it; `unwritten-read` and
    /// `operand-invalid` are additions of npukit.
    pub const fn name(&self) -> &'static str {
        self.lint().code
    }

    /// Returns the kind's lint, with the linter's explanation.
    pub(crate) const fn lint(&self) -> &'static Lint {
        match self {
            Self::ReservedOpcode { .. } => RESERVED_OPCODE,
            Self::OperandInvalid { .. } => OPERAND_INVALID,
            Self::ShapeInvalid { .. } => SHAPE_INVALID,
            Self::KerNInvalid { .. } => KER_N_INVALID,
            Self::MemInvalid { .. } => MEM_INVALID,
            Self::StrideInvalid { .. } => STRIDE_INVALID,
            Self::PostInvalid { .. } => POST_INVALID,
            Self::PoolInvalid { .. } => POOL_INVALID,
            Self::UndefinedRegister { .. } => UNDEFINED_REGISTER,
            Self::BufferInvalid { .. } => BUFFER_INVALID,
            Self::KerCapacity { .. } => KER_CAPACITY,
            Self::KerIndex { .. } => KER_INDEX,
            Self::ConvBounds { .. } | Self::ConvDraft { .. } => CONV_BOUNDS,
            Self::PoolBounds { .. } => POOL_BOUNDS,
            Self::ResidualShape { .. } => RESIDUAL_SHAPE,
            Self::PadBounds { .. } => PAD_BOUNDS,
            Self::AddressRange { .. } => ADDRESS_RANGE,
            Self::Unwritten { .. } => UNWRITTEN_READ,
            Self::NonFinite { .. } => NON_FINITE,
            Self::MissingEnd { .. } => MISSING_END,
        }
    }
}
