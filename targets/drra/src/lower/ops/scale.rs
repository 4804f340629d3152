//! Fraction lengths that differ between what makes a value and what reads it.

use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::dense::constant;
use crate::lower::Lowering;
use crate::lower::rounded::Rounding;
use crate::program::gather::{Gather, Source, Tail};
use crate::program::kernels::Work;
use crate::program::plan::{Place, Task};

/// What steps that only change fraction lengths are called.
const SCALE: &str = "Scale";

impl Lowering<'_> {
    /// The integers of an operand with a fraction length.
    pub(super) fn read(&mut self, node: &Node, id: ValueId, fraction: i32) -> Result<Source, Reject> {
        match self.graph.constant(id) {
            Some(_) => {
                self.note(Rounding::constant(id, fraction));
                self.source(id, fraction)
            }
            None => Ok(Source::Value(self.scaled(node, id.0 as usize, fraction))),
        }
    }

    /// A value that is to be scaled to become the result `y`; `y` itself when it has that fraction length.
    pub(super) fn unscaled(&mut self, node: &Node, y: ValueId, fraction: i32) -> usize {
        if self.format.fraction(y) == fraction {
            return y.0 as usize;
        }
        self.temporary(&node.name, self.graph.shape(y).to_vec(), fraction)
    }

    /// Makes `y` of the value that [`Self::unscaled`] gave.
    pub(super) fn finish(&mut self, node: &Node, value: usize, y: ValueId) {
        if value != y.0 as usize {
            self.scale(node, value, y.0 as usize);
        }
    }

    /// The value with a fraction length, made once.
    pub(super) fn scaled(&mut self, node: &Node, value: usize, fraction: i32) -> usize {
        let known = self.plan.values.get(value).map(|own| (own.fraction, own.shape.clone()));
        let Some((_, shape)) = known.filter(|own| own.0 != fraction) else { return value };
        if let Some(&scaled) = self.scaled.get(&(value, fraction)) {
            return scaled;
        }
        let scaled = self.temporary(&node.name, shape, fraction);
        self.scale(node, value, scaled);
        self.scaled.insert((value, fraction), scaled);
        scaled
    }

    /// Makes the value `to` of the value `from`, which has other fraction bits.
    pub(super) fn scale(&mut self, node: &Node, from: usize, to: usize) {
        let of = |number: usize| self.plan.values.get(number).map_or(0, |value| value.fraction);
        let (up, source) = (of(to) - of(from), Source::Value(from));
        let count = self.plan.values.get(to).map_or(0, |value| value.shape.iter().product());
        let task = match self.format.scaling(up) {
            Some((work, factor)) => {
                let operands = [Some(singles(source, count)), factor.map(|word| repeated(word, count))];
                let operands = operands.into_iter().flatten().collect();
                Task::Vectors { work, operands, to: Place::all(count) }
            }
            None => Task::Move { from: Gather::rows(source, 1, count), to: Place::all(count), shift: -up },
        };
        self.push_as(node, SCALE, to, vec![task]);
    }

    /// A result of each element of one operand, or of two.
    pub(super) fn stream(&mut self, node: &Node, work: Work, operands: Vec<Gather>, to: usize) {
        let count = operands.first().map_or(0, Gather::count);
        self.push(node, to, vec![Task::Vectors { work, operands, to: Place::all(count) }]);
    }
}

/// The first `count` elements, one by one.
pub(super) fn singles(source: Source, count: usize) -> Gather {
    Gather { source, offset: 0, vectors: vec![(count, 1)], elements: Vec::new(), tail: Tail::None }
}

/// The same word `count` times.
pub(super) fn repeated(word: i16, count: usize) -> Gather {
    Gather { vectors: vec![(count, 0)], ..singles(constant(word), count) }
}
