//! Causal attention, composed of basic operators.

use super::{Builder, Value, integer};
use crate::zoo::spread::Spread;

/// Addend of the scores of later positions. Its exponential is 0 in any format, and it fits 16 bits
/// with 8 fraction bits.
const HIDDEN: f32 = -100.0;

impl Builder {
    /// Adds self-attention with `heads` heads; the axes of `x` are batch, positions and features.
    pub(crate) fn causal_attention(&mut self, x: &Value, heads: usize) -> Value {
        let (positions, features) = (x.size(1), x.size(2));
        let [q, k, v] = [(); 3].map(|()| self.project(x, features));
        let [q, v] = [&q, &v].map(|value| self.heads(value, heads, &[0, 2, 1, 3]));
        let k = self.heads(&k, heads, &[0, 2, 3, 1]);
        let scores = self.product(&q, &k);
        let scores = self.scaled(&scores, (features as f64 / heads as f64).sqrt().recip());
        let scores = self.hide_later(&scores, positions);
        let shares = self.softmax(&scores);
        let mixed = self.product(&shares, &v);
        // A mean of nearly independent values is at most as large as they are.
        let mixed = Value { spread: Spread { mean: 0.0, variance: 0.5 }, ..mixed };
        let mixed = self.transpose(&mixed, &[0, 2, 1, 3]);
        let mixed = self.reshape(&mixed, &x.shape);
        self.project(&mixed, features)
    }

    /// Splits the features by head, with the axes permuted by `order`.
    fn heads(&mut self, x: &Value, heads: usize, order: &[usize]) -> Value {
        let apart = self.reshape(x, &[x.size(0), x.size(1), heads, x.size(2) / heads]);
        self.transpose(&apart, order)
    }

    /// Adds the matrix product of two values over the last two of four axes.
    fn product(&mut self, a: &Value, b: &Value) -> Value {
        let name = self.name("MatMul");
        let shape = vec![a.size(0), a.size(1), a.size(2), b.size(3)];
        let macs = (shape.iter().product::<usize>() * a.size(3)) as u64;
        self.count(macs, macs);
        let spread = Spread { mean: 0.0, variance: a.spread.variance * b.spread.variance * a.size(3) as f64 };
        self.node(name, "MatMul", &[&a.name, &b.name], Vec::new(), (shape, spread))
    }

    fn hide_later(&mut self, scores: &Value, positions: usize) -> Value {
        let name = self.name("Add");
        let hidden = |row, column| if column > row { HIDDEN } else { 0.0 };
        let values: Vec<f32> =
            (0..positions).flat_map(|row| (0..positions).map(move |column| hidden(row, column))).collect();
        let mask = self.floats(format!("{name}.mask"), &[1, 1, positions, positions], &values);
        self.node(name, "Add", &[&scores.name, &mask], Vec::new(), (scores.shape.clone(), scores.spread))
    }

    fn softmax(&mut self, x: &Value) -> Value {
        let name = self.name("Softmax");
        self.node(name, "Softmax", &[&x.name], vec![integer("axis", -1)], (x.shape.clone(), x.spread))
    }
}
