//! Conversions between fraction lengths of a value's producer and its readers.

use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::dense::constant;
use crate::lower::Lowering;
use crate::lower::rounded::Rounding;
use crate::program::gather::{Gather, Source, Tail};
use crate::program::kernels::Work;
use crate::program::plan::{Place, Task};

/// Operator name of steps that only change fraction lengths.
const SCALE: &str = "Scale";

impl Lowering<'_> {
    /// Returns the integers of an operand with a fraction length.
    pub(super) fn read(&mut self, node: &Node, id: ValueId, fraction: i32) -> Result<Source, Reject> {
        match self.graph.constant(id) {
            Some(_) => {
                self.note(Rounding::constant(id, fraction));
                self.source(id, fraction)
            }
            None => Ok(Source::Value(self.scaled(node, id.0 as usize, fraction))),
        }
    }

    /// Returns a value that [`Self::finish`] scales to the result `y`; `y` itself if it has that
    /// fraction length.
    pub(super) fn unscaled(&mut self, node: &Node, y: ValueId, fraction: i32) -> usize {
        if self.format.fraction(y) == fraction {
            return y.0 as usize;
        }
        self.temporary(&node.name, self.graph.shape(y).to_vec(), fraction)
    }

    /// Sets `y` from the value that [`Self::unscaled`] returned.
    pub(super) fn finish(&mut self, node: &Node, value: usize, y: ValueId) {
        if value != y.0 as usize {
            self.scale(node, value, y.0 as usize);
        }
    }

    /// Returns the value with a fraction length. The conversion is made once.
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

    /// Sets the value `to` from the value `from`, which has a different fraction length.
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

    /// Appends an elementwise step of one or two operands.
    pub(super) fn stream(&mut self, node: &Node, work: Work, operands: Vec<Gather>, to: usize) {
        let count = operands.first().map_or(0, Gather::count);
        self.push(node, to, vec![Task::Vectors { work, operands, to: Place::all(count) }]);
    }
}

/// Returns the first `count` elements as vectors of one element.
pub(super) fn singles(source: Source, count: usize) -> Gather {
    Gather { source, offset: 0, vectors: vec![(count, 1)], elements: Vec::new(), tail: Tail::None }
}

/// Returns the same word `count` times.
pub(super) fn repeated(word: i16, count: usize) -> Gather {
    Gather { vectors: vec![(count, 0)], ..singles(constant(word), count) }
}
