//! [`Repeated`]: layers of a model that cost the same.

use npukit_graph::language::{LayerForm, Model, Part, Weights};
use npukit_numeric::RowFormat;

/// Everything on which the cost of a layer depends: its form, and for each part its shape, its
/// format and whether it has a bias. A norm has no format.
type Signature = (LayerForm, Vec<Option<([usize; 2], Option<RowFormat>, bool)>>);

/// Layers to compile, and the layers that cost the same as each of them.
///
/// The host appends keys and values in each layer when all earlier instructions are complete. So
/// the cost of a layer depends on its signature and on the previous one's, except that the first
/// two layers also load constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// For each layer of the model, the compiled layer of the same cost.
    same: Vec<usize>,
    compiled: usize,
}

impl Repeated {
    /// Finds the layers of a model that cost the same.
    pub fn of(model: &Model) -> Self {
        let signatures: Vec<Signature> =
            (0..model.description().layers.len()).map(|layer| signature(model, layer)).collect();
        Self::new(&signatures)
    }

    /// Compiles each of `layers` layers.
    pub fn none(layers: usize) -> Self {
        Self { same: (0..layers).collect(), compiled: layers }
    }

    fn new<T: PartialEq>(signatures: &[T]) -> Self {
        let count = signatures.len();
        let alike = |a: usize, b: usize| signatures[a - 1..=a] == signatures[b - 1..=b];
        let first = |layer: usize| (2..layer).find(|&earlier| alike(earlier, layer)).unwrap_or(layer);
        let same: Vec<usize> = (0..count).map(first).collect();
        // Default: a model without layers.
        let most = same.iter().max().copied().unwrap_or(0);
        // The last compiled layer must end like the last layer of the model.
        let last = (most..count).find(|&layer| layer < 2 || alike(layer, count - 1));
        Self { same, compiled: last.map_or(count, |last| last + 1) }
    }

    /// Returns the number of layers to compile, which are the first layers of the model.
    pub const fn compiled(&self) -> usize {
        self.compiled
    }

    /// Returns for each layer of the model the compiled layer of the same cost.
    pub fn same(&self) -> &[usize] {
        &self.same
    }

    /// Returns the number of layers that cost the same as a compiled one.
    pub fn copies(&self, layer: usize) -> usize {
        self.same.iter().filter(|&&same| same == layer).count()
    }
}

fn signature(model: &Model, layer: usize) -> Signature {
    let of_part = |part| {
        Some(match model.weights(part, Some(layer))? {
            Weights::Matrix(rows, bias) => (rows.shape(), rows.format(), bias.is_some()),
            Weights::Norm(gains, bias) => ([1, gains.len()], None, bias.is_some()),
        })
    };
    (model.description().layers[layer], Part::LAYER.map(of_part).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(signatures: &str) -> (Vec<usize>, usize) {
        let Repeated { same, compiled } = Repeated::new(&signatures.chars().collect::<Vec<_>>());
        (same, compiled)
    }

    #[test]
    fn layers_repeat_after_the_first_two() {
        assert_eq!(of(""), (vec![], 0));
        assert_eq!(of("aa"), (vec![0, 1], 2));
        assert_eq!(of("aaaaa"), (vec![0, 1, 2, 2, 2], 3));
        assert_eq!(of("abababa"), (vec![0, 1, 2, 3, 2, 3, 2], 5));
        assert_eq!(of("aaaabaaaab"), (vec![0, 1, 2, 2, 4, 5, 2, 2, 2, 4], 10));
        assert_eq!(of("aaabaaabaa"), (vec![0, 1, 2, 3, 4, 2, 2, 3, 4, 2], 6));
    }
}
