//! Element-wise functions and arithmetic.

use npukit_graph::op::{Binary, BinaryKind, GeluForm, UnaryKind};
use npukit_graph::shape::broadcast;
use npukit_graph::{Node, ValueId};

use super::NodeWork;
use super::attention::number;
use crate::isa::op::{CvoFlags, CvoFunc};
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::macros::Macros;
use crate::lower::options::{Gelu, Isa, Options};
use crate::lower::reason::HostReason;
use crate::lower::steps::Layers;
use crate::lower::work::Work;

impl Layers {
    /// Lowers a function of each value.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn unary(&mut self, kind: UnaryKind, options: &Options) -> Result<Work, HostReason> {
        let ext = options.isa == Isa::Ext;
        let function = match kind {
            UnaryKind::Exp => CvoFunc::Exp,
            UnaryKind::Sqrt => CvoFunc::Sqrt,
            UnaryKind::Sin => CvoFunc::Sin,
            UnaryKind::Cos => CvoFunc::Cos,
            UnaryKind::Gelu { form: GeluForm::Tanh } => CvoFunc::Gelu,
            UnaryKind::Gelu { .. } if options.gelu == Gelu::Tanh => {
                self.approximated += 1;
                CvoFunc::Gelu
            }
            UnaryKind::Gelu { .. } => return Err(HostReason::ExactGelu),
            UnaryKind::Tanh if ext => CvoFunc::Tanh,
            UnaryKind::Tanh => {
                return Err(HostReason::Tanh);
            }
            UnaryKind::Sigmoid => return Ok(Work::Sigmoid),
            UnaryKind::Swish { alpha } if ext => return Ok(Work::Swish(alpha)),
            UnaryKind::Swish { .. } => return Err(HostReason::NoMultiply),
            UnaryKind::Neg => return Ok(Work::Factor(-1.0)),
            UnaryKind::Reciprocal => return Err(HostReason::ReciprocalOfZero),
            _ => return Err(HostReason::NoForm),
        };
        Ok(Work::Function(function))
    }

    /// Lowers arithmetic of two values, or of a value and a number.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn binary(
        &mut self,
        node: &Node,
        kind: BinaryKind,
        left: ValueId,
        right: ValueId,
        ext: bool,
    ) -> NodeWork {
        let shape = self.graph.shape(node.outputs[0]).to_vec();
        let whole = |layers: &Self, id| layers.graph.shape(id) == shape;
        match kind {
            BinaryKind::Mul | BinaryKind::Div => {
                let (x, factor) = match number(&self.graph, right) {
                    Some(factor) if whole(self, left) => (left, Some(factor)),
                    _ if kind == BinaryKind::Div => (left, None),
                    _ => (right, number(&self.graph, left).filter(|_| whole(self, right))),
                };
                if let Some(factor) = factor {
                    let factor = if kind == BinaryKind::Div { 1.0 / factor } else { factor };
                    return Ok((Work::Factor(factor), vec![x]));
                }
                if kind == BinaryKind::Div {
                    return Err(HostReason::ReciprocalOfZero);
                }
                if !ext {
                    return Err(HostReason::NoMultiply);
                }
            }
            BinaryKind::Add | BinaryKind::Sub => {}
            _ => return Err(HostReason::NoForm),
        }
        let known = broadcast(self.graph.shape(left), self.graph.shape(right)).as_deref() == Some(&shape[..]);
        if !known {
            return Err(HostReason::OtherShapes);
        }
        let operands = vec![self.spread(left, &shape)?, self.spread(right, &shape)?];
        if operands[0] == operands[1] && kind == BinaryKind::Mul {
            return Ok((Work::Square, vec![left]));
        }
        Ok((Work::Binary(kind), operands))
    }
}

impl Lowering<'_> {
    /// Emits a CVO function of each value.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn function(
        &mut self,
        function: CvoFunc,
        x: ValueId,
        result: ValueId,
    ) -> Result<(), LowerError> {
        let source = self.fetch(x)?;
        let region = self.like(x)?;
        self.code.cvo(function, source.base, region.base, source.values, CvoFlags::PLAIN);
        self.place(result, region);
        Ok(())
    }

    /// Emits `factor * x`.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn factor(&mut self, factor: f32, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let (source, scalar) = (self.fetch(x)?, self.scalar(factor)?);
        let region = self.like(x)?;
        self.scale([source.base, scalar, region.base], true, source.values, CvoFlags::PLAIN)?;
        self.place(result, region);
        Ok(())
    }

    /// Emits `1 / (1 + e^-x)`.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn sigmoid(&mut self, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let source = self.fetch(x)?;
        let region = self.like(x)?;
        self.sigmoid_of(source.base, region.base, source.values, 1.0)?;
        self.place(result, region);
        Ok(())
    }

    /// Emits `x / (1 + e^(-alpha x))`.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn swish(&mut self, alpha: f32, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let source = self.fetch(x)?;
        let region = self.allocate(source.values)?;
        self.sigmoid_of(source.base, region.base, source.values, alpha)?;
        self.code.cvo(CvoFunc::Mul, source.base, region.base, source.values, CvoFlags::PLAIN);
        self.place(result, region);
        Ok(())
    }

    /// Emits `x * x`.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn square(&mut self, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let region = self.turn(x)?;
        self.code.cvo(CvoFunc::Mul, region.base, region.base, region.values, CvoFlags::PLAIN);
        self.place(result, region);
        Ok(())
    }

    /// Emits a sum, difference or product, in the place of an operand if that is free.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn binary(
        &mut self,
        binary: &Binary,
        [left, right]: [ValueId; 2],
        result: ValueId,
    ) -> Result<(), LowerError> {
        if left == right && binary.kind == BinaryKind::Add {
            return self.factor(2.0, left, result);
        }
        // Sums and products may be computed in place of either operand; a difference only in place
        // of the first.
        let swaps = binary.kind != BinaryKind::Sub;
        let (source, region) = match self.take(left)? {
            Some(region) => (self.fetch(right)?, region),
            None if swaps => (self.fetch(left)?, self.turn(right)?),
            None => (self.fetch(right)?, self.turn(left)?),
        };
        match binary.kind {
            BinaryKind::Mul => {
                self.code.cvo(CvoFunc::Mul, source.base, region.base, source.values, CvoFlags::PLAIN);
            }
            kind => {
                let sign = self.scalar(if kind == BinaryKind::Sub { -1.0 } else { 1.0 })?;
                self.scale([source.base, sign, region.base], true, source.values, CvoFlags::ADD)?;
            }
        }
        self.place(result, region);
        Ok(())
    }
}
