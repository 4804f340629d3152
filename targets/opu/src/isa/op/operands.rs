//! Operand types: shapes, the post-processing of `store`, pooling windows.

use std::fmt;

use npukit_isa::codes;

/// Rows, columns and channels of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of rows.
    pub h: u32,
    /// Number of columns.
    pub w: u32,
    /// Number of channels.
    pub c: u32,
}

impl Shape {
    /// Maximum product of rows and columns.
    pub const MAX_PIXELS: u32 = 2048;

    /// Rows times columns.
    pub const fn pixels(self) -> usize {
        self.h as usize * self.w as usize
    }

    /// Number of elements.
    pub const fn elements(self) -> usize {
        self.pixels() * self.c as usize
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{},{}]", self.h, self.w, self.c)
    }
}

/// Value to which the products of a convolution are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addend {
    /// Zero: `conv`.
    Zero,
    /// Bias of the channel: `conv.bias`.
    Bias,
    /// Partial sum: `conv.acc`.
    Ofm,
}

/// Activation function of `store`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// Identity.
    #[default]
    None,
    /// ReLU: the value, or 0 if it is negative.
    Relu,
    /// Leaky ReLU: the value, or an eighth of it if it is negative.
    Leaky,
}

codes!(Activation, [Self::None, Self::Relu, Self::Leaky]);

/// Order in which `store` applies its steps.
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

codes!(Order, [Self::ActResPool, Self::ResActPool, Self::ActPoolRes]);

/// Steps of `store` between the cast and memory: one of the eleven forms of table 2.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Post {
    /// Activation function.
    pub act: Activation,
    /// Order of the steps.
    pub order: Order,
    /// Whether the ifm buffer is added.
    pub res: bool,
}

impl Post {
    /// All eleven legal forms.
    #[rustfmt::skip] // A table: one form per line, in the order of the specification.
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

    /// Whether the form is in [`Post::ALL`].
    pub fn is_legal(self) -> bool {
        Self::ALL.contains(&self)
    }
}

/// Window of max pooling and its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pool {
    /// Rows of the window.
    pub h: u32,
    /// Columns of the window.
    pub w: u32,
    /// Rows between adjacent windows.
    pub stride_h: u32,
    /// Columns between adjacent windows.
    pub stride_w: u32,
}

impl Pool {
    /// Window of one pixel, which turns pooling off.
    pub const NONE: Self = Self { h: 1, w: 1, stride_h: 1, stride_w: 1 };

    /// Returns the shape of the result for partial sums of shape `ofm`, which must be at least as
    /// large as the window.
    pub const fn result(self, ofm: Shape) -> Shape {
        Shape {
            h: ofm.h.saturating_sub(self.h) / self.stride_h + 1,
            w: ofm.w.saturating_sub(self.w) / self.stride_w + 1,
            c: ofm.c,
        }
    }
}
