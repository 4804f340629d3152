//! Types of operands: shapes, the post-processing of `store`, pooling windows.

use std::fmt;

use npukit_isa::codes;

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

codes!(Activation, [Self::None, Self::Relu, Self::Leaky]);

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

codes!(Order, [Self::ActResPool, Self::ResActPool, Self::ActPoolRes]);

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
