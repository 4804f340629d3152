//! Elementwise operators and sums.

use super::{Builder, Value, float};
use crate::zoo::spread::Spread;

impl Builder {
    pub(crate) fn relu(&mut self, x: &Value) -> Value {
        let name = self.name("Relu");
        self.node(name, "Relu", &[&x.name], Vec::new(), (x.shape.clone(), x.spread.rectified(0.0)))
    }

    /// Adds a LeakyRelu; the YOLO networks use slope 0.1 below 0.
    pub(crate) fn leaky_relu(&mut self, x: &Value, slope: f32) -> Value {
        let name = self.name("LeakyRelu");
        let result = (x.shape.clone(), x.spread.rectified(f64::from(slope)));
        self.node(name, "LeakyRelu", &[&x.name], vec![float("alpha", slope)], result)
    }

    /// Adds a clip from 0 to 6, as in the MobileNets.
    pub(crate) fn relu6(&mut self, x: &Value) -> Value {
        let name = self.name("Clip");
        let low = self.floats(format!("{name}.min"), &[], &[0.0]);
        let high = self.floats(format!("{name}.max"), &[], &[6.0]);
        let result = (x.shape.clone(), x.spread.rectified(0.0));
        self.node(name, "Clip", &[&x.name, &low, &high], Vec::new(), result)
    }

    /// Adds the exact Gelu. Its result has about the spread of a rectified value.
    pub(crate) fn gelu(&mut self, x: &Value) -> Value {
        let name = self.name("Gelu");
        self.node(name, "Gelu", &[&x.name], Vec::new(), (x.shape.clone(), x.spread.rectified(0.0)))
    }

    pub(crate) fn add(&mut self, a: &Value, b: &Value) -> Value {
        let name = self.name("Add");
        self.node(name, "Add", &[&a.name, &b.name], Vec::new(), (a.shape.clone(), a.spread.plus(b.spread)))
    }

    /// Adds `x * factor`.
    pub(super) fn scaled(&mut self, x: &Value, factor: f64) -> Value {
        let name = self.name("Mul");
        let factor_name = self.floats(format!("{name}.factor"), &[], &[factor as f32]);
        let Spread { mean, variance } = x.spread;
        let spread = Spread { mean: mean * factor, variance: variance * factor * factor };
        self.node(name, "Mul", &[&x.name, &factor_name], Vec::new(), (x.shape.clone(), spread))
    }
}
