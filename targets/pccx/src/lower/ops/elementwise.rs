//! Functions and arithmetic of whole values, and moves.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::LowerError;
use super::machine::Lowering;
use super::movement::{Run, is_identity};
use crate::op::{CvoFlags, CvoFunc};

impl Lowering<'_> {
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

    pub(super) fn factor(&mut self, factor: f32, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let (source, scalar) = (self.fetch(x)?, self.scalar(factor)?);
        let region = self.like(x)?;
        self.scale([source.base, scalar, region.base], true, source.values, CvoFlags::PLAIN)?;
        self.place(result, region);
        Ok(())
    }

    pub(super) fn sigmoid(&mut self, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let source = self.fetch(x)?;
        let region = self.like(x)?;
        self.sigmoid_of(source.base, region.base, source.values, 1.0)?;
        self.place(result, region);
        Ok(())
    }

    pub(super) fn swish(&mut self, alpha: f32, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let source = self.fetch(x)?;
        let region = self.allocate(source.values)?;
        self.sigmoid_of(source.base, region.base, source.values, alpha)?;
        self.code.cvo(CvoFunc::Mul, source.base, region.base, source.values, CvoFlags::PLAIN);
        self.place(result, region);
        Ok(())
    }

    /// `1 / (1 + e^(-alpha x))`
    fn sigmoid_of(&mut self, src: u32, dst: u32, values: usize, alpha: f32) -> Result<(), LowerError> {
        let (minus, one) = (self.scalar(-alpha)?, self.scalar(1.0)?);
        let ones = self.keep(&format!("{values} ones"), || vec![1.0; values])?;
        self.scale([src, minus, dst], true, values, CvoFlags::PLAIN)?;
        self.code.cvo(CvoFunc::Exp, dst, dst, values, CvoFlags::PLAIN);
        self.scale([ones.base, one, dst], true, values, CvoFlags::ADD)?;
        self.code.cvo(CvoFunc::Recip, dst, dst, values, CvoFlags::PLAIN);
        Ok(())
    }

    pub(super) fn square(&mut self, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let region = self.turn(x)?;
        self.code.cvo(CvoFunc::Mul, region.base, region.base, region.values, CvoFlags::PLAIN);
        self.place(result, region);
        Ok(())
    }

    pub(super) fn binary(
        &mut self,
        binary: &Binary,
        [left, right]: [ValueId; 2],
        result: ValueId,
    ) -> Result<(), LowerError> {
        if left == right && binary.kind == BinaryKind::Add {
            return self.factor(2.0, left, result);
        }
        // Sums and products may begin as either; a difference begins as what is taken from.
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

    /// Moves runs of values; results that are the operand share its place.
    pub(super) fn rearrange(
        &mut self,
        runs: &[Vec<Run>],
        operands: &[ValueId],
        results: &[ValueId],
    ) -> Result<(), LowerError> {
        let (&[first, ..], &[result, ..]) = (operands, results) else {
            return Err(LowerError::Fault("a move"));
        };
        if is_identity(runs, self.values(first)) {
            self.share(first, result);
            return Ok(());
        }
        for (runs, &result) in runs.iter().zip(results) {
            let region = self.allocate(self.values(result))?;
            for run in runs {
                let operand = operands.get(run.operand).copied().unwrap_or(first);
                let source = self.fetch(operand)?;
                self.code.copy(source.at(run.from), region.at(run.to), run.length);
            }
            self.place(result, region);
        }
        Ok(())
    }
}
