//! Types of operands, with the names of the encoding page (specification 2.2).

use npukit_isa::{codes, flags};

/// Source or destination of a MEMCPY; the discriminant is the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Device {
    /// The L2 memory.
    #[default]
    Npu = 0,
    /// A host window.
    Host = 1,
}

codes!(Device, [Self::Npu, Self::Host]);

/// A constant bank; the discriminant is the code of MEMSET's `dest_cache`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cache {
    /// Shapes of activations and transfers.
    #[default]
    FmapShape = 0,
    /// Shapes of weights.
    WeightShape = 1,
}

codes!(Cache, [Self::FmapShape, Self::WeightShape]);

impl Cache {
    /// Returns the name in the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FmapShape => "FMAP_SHAPE",
            Self::WeightShape => "WEIGHT_SHAPE",
        }
    }
}

/// Entry of a constant bank: X, Y and Z, which are `a_value`, `b_value` and `c_value` of MEMSET.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// `a_value`: M of an activation, T of weights.
    pub x: u16,
    /// `b_value`: 1 for an activation, N of weights.
    pub y: u16,
    /// `c_value`: K.
    pub z: u16,
}

impl Shape {
    /// Returns a shape of X, Y and Z.
    pub const fn new(x: u16, y: u16, z: u16) -> Self {
        Self { x, y, z }
    }

    /// Returns X * Y * Z.
    pub const fn product(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }
}

/// Function of CVO; the discriminant is the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the instruction set's own; `exec::cvo` documents each")]
pub enum CvoFunc {
    #[default]
    Exp = 0,
    Sqrt,
    Gelu,
    Sin,
    Cos,
    ReduceSum,
    Scale,
    Recip,
    /// Extension: multiplies by the old destination.
    Mul,
    /// Extension: the maximum of the value and 0.
    Relu,
    /// Extension: the hyperbolic tangent.
    Tanh,
}

codes!(CvoFunc, Self::ALL);

impl CvoFunc {
    /// All functions in the order of their codes; codes 8 and above are extensions.
    pub const ALL: [Self; 11] = [
        Self::Exp,
        Self::Sqrt,
        Self::Gelu,
        Self::Sin,
        Self::Cos,
        Self::ReduceSum,
        Self::Scale,
        Self::Recip,
        Self::Mul,
        Self::Relu,
        Self::Tanh,
    ];

    /// Returns the `cvo_func` field.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the function with the largest code in an instance.
    pub const fn last(extensions: bool) -> Self {
        if extensions { Self::Tanh } else { Self::Recip }
    }

    /// Whether only instances with extensions have the function.
    pub const fn is_extension(self) -> bool {
        self.code() >= Self::Mul.code()
    }

    /// Returns the name in assembly text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Sqrt => "sqrt",
            Self::Gelu => "gelu",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::ReduceSum => "reduce_sum",
            Self::Scale => "scale",
            Self::Recip => "recip",
            Self::Mul => "mul",
            Self::Relu => "relu",
            Self::Tanh => "tanh",
        }
    }
}

/// Flags of GEMV and GEMM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MacFlags {
    /// Stores the largest result in the e_max register.
    pub findemax: bool,
    /// Adds to the destination instead of overwriting.
    pub accm: bool,
    /// Multiplies each row by its weight scale.
    pub w_scale: bool,
}

flags!(MacFlags, [findemax, accm, w_scale]);

/// Operands of GEMV and GEMM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac {
    /// L2 word of the result.
    pub dest_reg: u32,
    /// L2 word of the activation.
    pub src_addr: u32,
    /// Flags for additional operations, such as accumulation.
    pub flags: MacFlags,
    /// Entry of the weights' bank: (T, N, K).
    pub size_ptr_addr: u8,
    /// Entry of the activations' bank: (M, 1, K).
    pub shape_ptr_addr: u8,
    /// Number of lanes used, 0 for all; affects only time.
    pub parallel_lane: u8,
}

/// Operands of MEMCPY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memcpy {
    /// Source of the transfer.
    pub from_device: Device,
    /// Destination of the transfer.
    pub to_device: Device,
    /// Destination word in L2; for a transfer to the host, the number of the window.
    pub dest_addr: u32,
    /// Source word in L2; for a transfer from the host, the number of the window.
    pub src_addr: u32,
    /// Offset in the host window, in units of 16 bytes.
    pub aux_addr: u32,
    /// Entry of the activations' bank: shape of the moved values.
    pub shape_ptr_addr: u8,
    /// Whether the next instruction may start before this one is complete; affects only time.
    pub is_async: bool,
}

/// Operands of MEMSET.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memset {
    /// Constant bank that is written.
    pub dest_cache: Cache,
    /// Index of the entry, 0 to 63.
    pub dest_addr: u8,
    /// New content of the entry.
    pub shape: Shape,
}

/// Flags of CVO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CvoFlags {
    /// Subtracts e_max from each input.
    pub sub_emax: bool,
    /// SCALE multiplies by the reciprocal of its scalar.
    pub recip_scale: bool,
    /// Adds to the destination instead of overwriting.
    pub accm: bool,
}

flags!(CvoFlags, [sub_emax, recip_scale, accm]);

impl CvoFlags {
    /// No flags.
    pub const PLAIN: Self = Self { sub_emax: false, recip_scale: false, accm: false };
    /// Flags that add to the destination, and nothing more.
    pub const ADD: Self = Self { accm: true, ..Self::PLAIN };
}

/// Operands of CVO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cvo {
    /// Function that is computed.
    pub cvo_func: CvoFunc,
    /// Source word; for SCALE the word of the scalar, which the vector follows.
    pub src_addr: u32,
    /// L2 word of the destination.
    pub dst_addr: u32,
    /// Number of elements of the vector.
    pub length: u16,
    /// Flags for additional operations, such as accumulation.
    pub flags: CvoFlags,
    /// Whether the next instruction may start before this one is complete; affects only time.
    pub is_async: bool,
}
