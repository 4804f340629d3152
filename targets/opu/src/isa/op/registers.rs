//! Registers that instructions set and need: [`Registers`].

use crate::isa::fault::FaultKind;
use crate::isa::op::{Pool, Post, Shape};

/// Pair of numbers of an instruction: rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Number of rows.
    pub h: u32,
    /// Number of columns.
    pub w: u32,
}

/// Memory to which results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfmMemory {
    /// Byte address of the bank: `ofm_addr`.
    pub addr: u32,
    /// Rows of a plane.
    pub h: u32,
    /// Slots between the starts of adjacent rows.
    pub w: u32,
}

/// Memory from which ifm tiles are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IfmMemory {
    /// Byte address of the bank: `ifm_addr`.
    pub addr: u32,
    /// Slots between the starts of adjacent rows.
    pub w: u32,
}

/// Exponents of two set by `@shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shifts {
    /// Exponent for sums of products.
    pub ifm: i32,
    /// Exponent for biases.
    pub bias: i32,
}

/// Registers, by the instruction that sets them; all are undefined after a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Shape of the ifm buffer, set by `@shape.ifm`.
    pub ifm: Option<Shape>,
    /// Shape of the ofm buffer, set by `@shape.ofm`.
    pub ofm: Option<Shape>,
    /// Number of kernel slices, set by `@shape.ker`.
    pub ker_n: Option<u32>,
    /// Memory of ifm tiles, set by `@mem.ifm`.
    pub ifm_mem: Option<IfmMemory>,
    /// Byte address of kernels, set by `@mem.ker`.
    pub ker_addr: Option<u32>,
    /// Byte address of biases, set by `@mem.bias`.
    pub bias_addr: Option<u32>,
    /// Memory of results, set by `@mem.ofm`.
    pub ofm_mem: Option<OfmMemory>,
    /// Steps of convolutions, set by `@stride`.
    pub stride: Option<Pair>,
    /// Exponents of two, set by `@shift`.
    pub shift: Option<Shifts>,
    /// Post-processing of `store`, set by `@post`.
    pub post: Option<Post>,
    /// Pooling of `store`, set by `@pool`.
    pub pool: Option<Pool>,
}

/// Returns the value of a register, or the fault that it is undefined.
pub(crate) fn defined<T>(
    value: Option<T>,
    register: &'static str,
    set_by: &'static str,
) -> Result<T, FaultKind> {
    value.ok_or(FaultKind::UndefinedRegister { register, set_by })
}

/// Accessors of the registers that instructions need.
///
/// # Errors
///
/// Each returns [`FaultKind::UndefinedRegister`] until the register is set.
impl Registers {
    pub(crate) fn ifm_shape(&self) -> Result<Shape, FaultKind> {
        defined(self.ifm, "ifm_h", "@shape.ifm")
    }

    pub(crate) fn ifm_c(&self) -> Result<u32, FaultKind> {
        Ok(defined(self.ifm, "ifm_c", "@shape.ifm")?.c)
    }

    pub(crate) fn ifm_memory(&self) -> Result<IfmMemory, FaultKind> {
        defined(self.ifm_mem, "ifm_addr", "@mem.ifm")
    }

    pub(crate) fn ofm_shape(&self) -> Result<Shape, FaultKind> {
        defined(self.ofm, "ofm_h", "@shape.ofm")
    }

    pub(crate) fn ofm_c(&self) -> Result<u32, FaultKind> {
        Ok(defined(self.ofm, "ofm_c", "@shape.ofm")?.c)
    }

    /// Returns the memory of results. `register` is the name for the fault's message.
    pub(crate) fn ofm_memory(&self, register: &'static str) -> Result<OfmMemory, FaultKind> {
        defined(self.ofm_mem, register, "@mem.ofm")
    }

    pub(crate) fn slices(&self) -> Result<u32, FaultKind> {
        defined(self.ker_n, "ker_n", "@shape.ker")
    }

    pub(crate) fn ker_address(&self) -> Result<u32, FaultKind> {
        defined(self.ker_addr, "ker_addr", "@mem.ker")
    }

    pub(crate) fn bias_address(&self) -> Result<u32, FaultKind> {
        defined(self.bias_addr, "bias_addr", "@mem.bias")
    }

    pub(crate) fn stride(&self) -> Result<Pair, FaultKind> {
        defined(self.stride, "stride_h", "@stride")
    }

    pub(crate) fn shift(&self) -> Result<Shifts, FaultKind> {
        defined(self.shift, "ifm_shift", "@shift")
    }

    pub(crate) fn post(&self) -> Result<Post, FaultKind> {
        defined(self.post, "post_order", "@post")
    }

    pub(crate) fn pool(&self) -> Result<Pool, FaultKind> {
        defined(self.pool, "pool_h", "@pool")
    }
}

impl Registers {
    /// Returns every defined register with its value, under the names of the specification's
    /// section 3.1.
    pub fn named(&self) -> Vec<(&'static str, i64)> {
        let mut named: Vec<(&'static str, i64)> = Vec::new();
        let mut add = |entries: &[(&'static str, u32)]| {
            named.extend(entries.iter().map(|&(name, value)| (name, i64::from(value))));
        };
        if let Some(Shape { h, w, c }) = self.ifm {
            add(&[("ifm_h", h), ("ifm_w", w), ("ifm_c", c)]);
        }
        if let Some(Shape { h, w, c }) = self.ofm {
            add(&[("ofm_h", h), ("ofm_w", w), ("ofm_c", c)]);
        }
        if let Some(n) = self.ker_n {
            add(&[("ker_n", n)]);
        }
        if let Some(IfmMemory { addr, w }) = self.ifm_mem {
            add(&[("ifm_addr", addr), ("ifm_mem_w", w)]);
        }
        for (name, addr) in [("ker_addr", self.ker_addr), ("bias_addr", self.bias_addr)] {
            if let Some(addr) = addr {
                add(&[(name, addr)]);
            }
        }
        if let Some(OfmMemory { addr, h, w }) = self.ofm_mem {
            add(&[("ofm_addr", addr), ("ofm_mem_h", h), ("ofm_mem_w", w)]);
        }
        if let Some(Pair { h, w }) = self.stride {
            add(&[("stride_h", h), ("stride_w", w)]);
        }
        if let Some(Post { act, order, res }) = self.post {
            add(&[("act", act as u32), ("post_order", order as u32), ("add_ifm", u32::from(res))]);
        }
        if let Some(Pool { h, w, stride_h, stride_w }) = self.pool {
            add(&[("pool_h", h), ("pool_w", w), ("pool_h_stride", stride_h), ("pool_w_stride", stride_w)]);
        }
        if let Some(Shifts { ifm, bias }) = self.shift {
            named.extend([("ifm_shift", ifm.into()), ("bias_shift", bias.into())]);
        }
        named
    }
}
