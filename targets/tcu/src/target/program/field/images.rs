//! [`ConvertedImages`]: field images of constants on the machine.

use npukit_graph::Op;
use npukit_graph::field::{Exact, FieldTensor, Images, NoImage, Operands};
use npukit_graph::op::{Reduce, ReduceKind};
use npukit_numeric::{Element, NumberFormat};

use crate::lower::{converted, mean_factors};
use crate::machine::arith::field::image;

/// Constants as the compiler converts them.
pub(super) struct ConvertedImages {
    pub format: NumberFormat,
    /// Whether the machine has lookup tables for functions; otherwise the host computes them.
    pub has_tables: bool,
}

impl Images for ConvertedImages {
    fn constant(&self, value: f32) -> Option<Element> {
        image(self.format, converted(self.format, value).0)
    }

    /// Every function is a table, if there are tables.
    fn function(&self, op: &Op, arguments: &[Element]) -> Result<Vec<Element>, NoImage> {
        if self.has_tables { Err(NoImage::Table) } else { Exact.function(op, arguments) }
    }

    /// A mean over channels has two factors.
    fn operator(&self, op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
        let Op::Reduce(Reduce { kind: ReduceKind::Mean, axes, keep_dims }) = op else { return None };
        let shape = operands.field(0).ok()?.shape.clone();
        axes.contains(&shape.len().checked_sub(1)?).then_some(())?;
        let count = axes.iter().map(|&axis| shape[axis]).product();
        let sum = Op::from(Reduce { kind: ReduceKind::Sum, axes: axes.clone(), keep_dims: *keep_dims });
        Some(operands.applied(&sum).and_then(|mut sums| {
            let factors = mean_factors(count, self.format.step());
            let [before, after] = [operands.constant(factors[0])?, operands.constant(factors[1])?];
            sums.iter_mut().flat_map(|sum| &mut sum.elements).for_each(|x| *x = *x * before * after);
            Ok(sums)
        }))
    }
}
