//! Similar layers: [`alike`] computes a key, by which the best tilings of one layer are tried first
//! for the next similar one.

use crate::lower::layers::hir::{ChannelOperand, Layer, MatMul, Model, Operand, Rows, Step};
use crate::lower::memory::object::VecRef;

/// Key of similar layers: their grids, the kinds and sizes of their steps, and the sizes of their
/// operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alike(Vec<u64>);

/// Returns the key of `layer`.
pub fn alike(layer: &Layer, model: &Model) -> Alike {
    let mut found = KeyBuilder { model, facts: Vec::new() };
    found.facts.extend([layer.pixels as u64, layer.blocks as u64, layer.kept]);
    layer.steps.iter().for_each(|step| found.step(step));
    Alike(found.facts)
}

struct KeyBuilder<'a> {
    model: &'a Model,
    facts: Vec<u64>,
}

impl KeyBuilder<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::MatMul(matmul) => self.matmul(matmul),
            Step::Load(vectors) => self.vectors(1, vectors),
            Step::AddVectors(vectors) => self.vectors(2, vectors),
            Step::Binary { op, vectors, .. } => {
                self.facts.push(*op as u64);
                self.vectors(3, vectors);
            }
            Step::ChannelWise { op, operand, .. } => {
                self.facts.extend([4, *op as u64]);
                if let ChannelOperand::Blocks(vectors) = operand {
                    self.vectors(5, vectors);
                }
            }
            Step::Formula(formula) => {
                for operand in formula.operands() {
                    match operand {
                        Operand::Grid => self.facts.push(6),
                        Operand::Blocks(vectors) => self.vectors(7, vectors),
                        Operand::Vectors(vectors) => self.vectors(8, vectors),
                    }
                }
            }
            Step::Lookup(lookup) => self.facts.extend([9, lookup.vectors.into(), lookup.tables.into()]),
            Step::Reduce { windows, .. } => {
                self.facts.extend([10, windows.len() as u64, windows.longest() as u64])
            }
            Step::AveragePool { windows, .. } => {
                self.facts.extend([11, windows.len() as u64, windows.longest() as u64]);
            }
            Step::WeightedSum(sum) => {
                self.facts.extend([12, sum.windows.len() as u64, sum.weights.len() as u64]);
            }
            Step::Resume => self.facts.push(13),
            Step::Keep { .. } => self.facts.push(14),
            Step::Save { pixel_major, pixels, .. } => {
                // Default: 0 if all pixels are stored; the size of the grid is already part of the
                // key.
                let stored = pixels.as_ref().map_or(0, Vec::len);
                self.facts.extend([15, u64::from(*pixel_major), stored as u64]);
            }
        }
    }

    fn matmul(&mut self, matmul: &MatMul) {
        let variable =
            matmul.sets.iter().flatten().filter(|set| matches!(set.rows, Rows::Variable(_))).count();
        let sets = matmul.sets.iter().flatten().count();
        self.facts.extend([16, matmul.terms.len() as u64, sets as u64, variable as u64]);
        if let Some(term) = matmul.terms.first() {
            self.vectors(17, &term.inputs);
        }
    }

    /// Adds the number of vectors, the number that are stored, the distance of the first two, and
    /// the size of their object.
    fn vectors(&mut self, kind: u64, vectors: &[VecRef]) {
        let mut stored = vectors.iter().filter(|vector| !vector.is_zero());
        let (first, second) = (stored.next(), stored.next());
        let count = usize::from(first.is_some()) + usize::from(second.is_some()) + stored.count();
        self.facts.extend([kind, vectors.len() as u64, count as u64]);
        if let (Some(first), Some(second)) = (first, second) {
            self.facts.push(second.index.wrapping_sub(first.index).into());
            self.facts.push(self.model.objects.get(first.object).vectors.into());
        }
    }
}
