//! Dense layers.

use super::conv::drawn;
use super::{Builder, Value, integer};
use crate::zoo::random::Random;
use crate::zoo::spread::Spread;

impl Builder {
    /// Adds a dense layer from a row to `units` values of variance 1, with a bias.
    pub(crate) fn dense(&mut self, x: &Value, units: usize) -> Value {
        let name = self.name("Gemm");
        let (rows, features) = (x.size(0), x.size(1));
        let macs = (rows * features * units) as u64;
        self.count(macs, macs);
        let mut sums = vec![0.0; units];
        let draw = |random: &mut Random, _| drawn(random, features, x.spread.variance.recip(), &mut sums);
        let weights = self.weights(format!("{name}.weight"), &[units, features], draw);
        let offsets: Vec<f64> = sums.iter().map(|sum| sum * x.spread.mean).collect();
        let bias = self.bias(&name, &offsets);
        let result = (vec![rows, units], Spread::UNIT);
        self.node(name, "Gemm", &[&x.name, &weights, &bias], vec![integer("transB", 1)], result)
    }

    /// Like [`Self::dense`], along the last of three axes, as a MatMul and an Add.
    pub(crate) fn project(&mut self, x: &Value, units: usize) -> Value {
        let (name, sum) = (self.name("MatMul"), self.name("Add"));
        let (rows, features) = (x.size(0) * x.size(1), x.size(2));
        let macs = (rows * features * units) as u64;
        self.count(macs, macs);
        let mut sums = vec![0.0; units];
        let draw = |random: &mut Random, _| {
            transposed(&drawn(random, features, x.spread.variance.recip(), &mut sums), features)
        };
        let weights = self.weights(format!("{name}.weight"), &[features, units], draw);
        let offsets: Vec<f64> = sums.iter().map(|sum| sum * x.spread.mean).collect();
        let result = (vec![x.size(0), x.size(1), units], Spread::UNIT);
        let product = self.node(name, "MatMul", &[&x.name, &weights], Vec::new(), result.clone());
        let bias = self.bias(&product.name, &offsets);
        self.node(sum, "Add", &[&product.name, &bias], Vec::new(), result)
    }
}

/// Transposes rows of `columns` values.
fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns)).copied().collect()
}
