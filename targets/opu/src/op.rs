//! Typed instructions: [`Op`]. [`crate::codec`] turns one into a word and back; [`crate::isa()`]
//! describes the same for people.

use std::fmt;

use crate::fault::FaultKind;

/// Rows, columns and channels of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows.
    pub h: u32,
    /// Columns.
    pub w: u32,
    /// Channels.
    pub c: u32,
}

impl Shape {
    /// The largest product of rows and columns.
    pub const MAX_PIXELS: u32 = 2048;

    /// Rows times columns.
    pub const fn pixels(self) -> usize {
        self.h as usize * self.w as usize
    }

    /// Elements.
    pub const fn elements(self) -> usize {
        self.pixels() * self.c as usize
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{},{}]", self.h, self.w, self.c)
    }
}

/// What the products of a convolution are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addend {
    /// Nothing: `conv`.
    Zero,
    /// The bias of the channel: `conv.bias`.
    Bias,
    /// The partial sum: `conv.acc`.
    Ofm,
}

/// The function of `store`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The value itself.
    #[default]
    None,
    /// The value, or 0 when it is negative.
    Relu,
    /// The value, or an eighth of it when it is negative.
    Leaky,
}

/// In which order `store` works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Activation, residual, pooling.
    #[default]
    ActResPool,
    /// Residual, activation, pooling.
    ResActPool,
    /// Activation, pooling, residual.
    ActPoolRes,
}

/// What `store` does between the cast and the memory: one of the eleven forms of table 2.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Post {
    /// The function.
    pub act: Activation,
    /// The order.
    pub order: Order,
    /// Whether the ifm buffer is added.
    pub res: bool,
}

impl Post {
    /// The eleven legal forms.
    #[rustfmt::skip] // A table: one form a line, in the order of the specification.
    pub const ALL: [Self; 11] = [
        Self { order: Order::ActResPool, act: Activation::None,  res: false },
        Self { order: Order::ActResPool, act: Activation::None,  res: true  },
        Self { order: Order::ActResPool, act: Activation::Relu,  res: false },
        Self { order: Order::ActResPool, act: Activation::Relu,  res: true  },
        Self { order: Order::ActResPool, act: Activation::Leaky, res: false },
        Self { order: Order::ActResPool, act: Activation::Leaky, res: true  },
        Self { order: Order::ResActPool, act: Activation::Relu,  res: true  },
        Self { order: Order::ResActPool, act: Activation::Leaky, res: true  },
        Self { order: Order::ActPoolRes, act: Activation::None,  res: true  },
        Self { order: Order::ActPoolRes, act: Activation::Relu,  res: true  },
        Self { order: Order::ActPoolRes, act: Activation::Leaky, res: true  },
    ];

    /// Whether the form is one of [`Post::ALL`].
    pub fn is_legal(self) -> bool {
        Self::ALL.contains(&self)
    }
}

/// The window of max pooling and its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pool {
    /// Rows of the window.
    pub h: u32,
    /// Columns of the window.
    pub w: u32,
    /// Rows from window to window.
    pub stride_h: u32,
    /// Columns from window to window.
    pub stride_w: u32,
}

impl Pool {
    /// No pooling.
    pub const NONE: Self = Self { h: 1, w: 1, stride_h: 1, stride_w: 1 };

    /// Shape of the result for partial sums of shape `ofm`, which are at least as large as the window.
    pub const fn result(self, ofm: Shape) -> Shape {
        Shape {
            h: ofm.h.saturating_sub(self.h) / self.stride_h + 1,
            w: ofm.w.saturating_sub(self.w) / self.stride_w + 1,
            c: ofm.c,
        }
    }
}

/// An instruction. Addresses `addr` count 64 bytes from the start of a bank, banks 2^28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Stops.
    End,
    /// Loads the ifm buffer.
    LoadIfm {
        /// In units of 64 bytes.
        addr: u32,
    },
    /// Loads the ker buffer.
    LoadKer {
        /// In units of 64 bytes.
        addr: u32,
    },
    /// Loads the bias buffer.
    LoadBias {
        /// In units of 64 bytes.
        addr: u32,
    },
    /// Multiplies the ifm, from pixel `h`, `w` on, by slice `n` of the kernel.
    Conv {
        /// What is added.
        addend: Addend,
        /// Row of the first pixel.
        h: u32,
        /// Column of the first pixel.
        w: u32,
        /// Slice.
        n: u32,
    },
    /// Casts, post-processes and writes the partial sums.
    Store {
        /// In units of 64 bytes.
        addr: u32,
    },
    /// Clears the border of a plane.
    Pad {
        /// In units of 64 bytes.
        addr: u32,
        /// Slots on each side.
        p: u32,
    },
    /// Shape of the ifm buffer.
    ShapeIfm(Shape),
    /// Shape of the ofm buffer.
    ShapeOfm(Shape),
    /// Slices of the ker buffer.
    ShapeKer {
        /// Number of slices.
        n: u32,
    },
    /// Where ifm tiles come from.
    MemIfm {
        /// Bank.
        bank: u32,
        /// Slots from row to row.
        w: u32,
    },
    /// Where kernels come from.
    MemKer {
        /// Bank.
        bank: u32,
    },
    /// Where biases come from.
    MemBias {
        /// Bank.
        bank: u32,
    },
    /// Where results go to.
    MemOfm {
        /// Bank.
        bank: u32,
        /// Rows of a plane.
        h: u32,
        /// Slots from row to row.
        w: u32,
    },
    /// Steps of convolutions.
    Stride {
        /// Rows.
        h: u32,
        /// Columns.
        w: u32,
    },
    /// Exponents of the powers of two that products and biases are multiplied by.
    Shift {
        /// Of the sum of products.
        ifm: i32,
        /// Of the bias.
        bias: i32,
    },
    /// What `store` does.
    Post(Post),
    /// The pooling of `store`.
    Pool(Pool),
}

/// What of the machine an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `end`.
    Control,
    /// `@...`: registers.
    Configuration,
    /// `ld.*`.
    Load,
    /// `conv*`.
    Compute,
    /// `store` and `pad`.
    Store,
}

impl Op {
    /// Every mnemonic, in the order of opcodes.
    pub const MNEMONICS: [&str; 20] = [
        "end",
        "ld.ifm",
        "ld.ker",
        "ld.bias",
        "conv",
        "conv.bias",
        "conv.acc",
        "store",
        "pad",
        "@shape.ifm",
        "@shape.ofm",
        "@shape.ker",
        "@mem.ifm",
        "@mem.ker",
        "@mem.bias",
        "@mem.ofm",
        "@stride",
        "@shift",
        "@post",
        "@pool",
    ];

    /// The instruction's name.
    pub const fn mnemonic(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::LoadIfm { .. } => "ld.ifm",
            Self::LoadKer { .. } => "ld.ker",
            Self::LoadBias { .. } => "ld.bias",
            Self::Conv { addend: Addend::Zero, .. } => "conv",
            Self::Conv { addend: Addend::Bias, .. } => "conv.bias",
            Self::Conv { addend: Addend::Ofm, .. } => "conv.acc",
            Self::Store { .. } => "store",
            Self::Pad { .. } => "pad",
            Self::ShapeIfm(_) => "@shape.ifm",
            Self::ShapeOfm(_) => "@shape.ofm",
            Self::ShapeKer { .. } => "@shape.ker",
            Self::MemIfm { .. } => "@mem.ifm",
            Self::MemKer { .. } => "@mem.ker",
            Self::MemBias { .. } => "@mem.bias",
            Self::MemOfm { .. } => "@mem.ofm",
            Self::Stride { .. } => "@stride",
            Self::Shift { .. } => "@shift",
            Self::Post(_) => "@post",
            Self::Pool(_) => "@pool",
        }
    }

    /// What it occupies.
    pub const fn class(&self) -> Class {
        match self {
            Self::End => Class::Control,
            Self::LoadIfm { .. } | Self::LoadKer { .. } | Self::LoadBias { .. } => Class::Load,
            Self::Conv { .. } => Class::Compute,
            Self::Store { .. } | Self::Pad { .. } => Class::Store,
            _ => Class::Configuration,
        }
    }

    /// What the instruction alone can be at fault for (specification, 2.3).
    pub fn check(&self) -> Result<(), FaultKind> {
        match *self {
            Self::ShapeIfm(shape) => shape_fits("ifm", shape, 16),
            Self::ShapeOfm(shape) => shape_fits("ofm", shape, 2),
            Self::ShapeKer { n } if !(1..=36).contains(&n) => Err(FaultKind::KerNInvalid { n }),
            Self::MemIfm { w: 0, .. } => Err(FaultKind::MemInvalid { register: "ifm_mem_w" }),
            Self::MemOfm { h: 0, .. } => Err(FaultKind::MemInvalid { register: "ofm_mem_h" }),
            Self::MemOfm { w: 0, .. } => Err(FaultKind::MemInvalid { register: "ofm_mem_w" }),
            Self::Stride { h, w } if h == 0 || w == 0 => Err(FaultKind::StrideInvalid { h, w }),
            Self::Post(post) if !post.is_legal() => Err(FaultKind::PostInvalid {
                act: post.act as u32,
                order: post.order as u32,
                res: u32::from(post.res),
            }),
            Self::Pool(Pool { h, w, stride_h, stride_w }) if [h, w, stride_h, stride_w].contains(&0) => {
                Err(FaultKind::PoolInvalid { h, w, stride_h, stride_w })
            }
            _ => Ok(()),
        }
    }
}

fn shape_fits(buffer: &'static str, Shape { h, w, c }: Shape, least: u32) -> Result<(), FaultKind> {
    let pixels = u64::from(h) * u64::from(w);
    let fits = (1..=u64::from(Shape::MAX_PIXELS)).contains(&pixels) && h <= 127 && w <= 127;
    if fits && c.is_power_of_two() && (least..=64).contains(&c) {
        return Ok(());
    }
    Err(FaultKind::ShapeInvalid { buffer, h, w, c: c.into(), least })
}
