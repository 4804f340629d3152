//! Operators that move values.

use super::{Builder, Value, dims, integer, integers, text};

impl Builder {
    /// Concatenates `a` and `b` along the channels.
    pub(crate) fn concat(&mut self, a: &Value, b: &Value) -> Value {
        let name = self.name("Concat");
        let mut shape = a.shape.clone();
        if let Some(channels) = shape.get_mut(1) {
            *channels += b.size(1);
        }
        let spread = a.spread.beside(a.size(1), b.spread, b.size(1));
        self.node(name, "Concat", &[&a.name, &b.name], vec![integer("axis", 1)], (shape, spread))
    }

    /// Returns the second half of the channels.
    pub(crate) fn second_half(&mut self, x: &Value) -> Value {
        let name = self.name("Slice");
        let channels = x.size(1);
        let starts = self.integers(format!("{name}.starts"), &[(channels / 2) as i64]);
        let ends = self.integers(format!("{name}.ends"), &[channels as i64]);
        let axes = self.integers(format!("{name}.axes"), &[1]);
        let mut shape = x.shape.clone();
        if let Some(size) = shape.get_mut(1) {
            *size -= channels / 2;
        }
        self.node(name, "Slice", &[&x.name, &starts, &ends, &axes], Vec::new(), (shape, x.spread))
    }

    /// Pads height and width with zeros, by the same number on all sides.
    pub(crate) fn pad(&mut self, x: &Value, count: usize) -> Value {
        let name = self.name("Pad");
        let ends = [0, 0, count, count, 0, 0, count, count];
        let pads = self.integers(format!("{name}.pads"), &dims(&ends));
        let shape = vec![x.size(0), x.size(1), x.size(2) + 2 * count, x.size(3) + 2 * count];
        self.node(name, "Pad", &[&x.name, &pads], Vec::new(), (shape, x.spread))
    }

    /// Doubles height and width; each value becomes a square of four.
    pub(crate) fn upsample(&mut self, x: &Value) -> Value {
        let name = self.name("Resize");
        let scales = self.floats(format!("{name}.scales"), &[4], &[1.0, 1.0, 2.0, 2.0]);
        let shape = vec![x.size(0), x.size(1), 2 * x.size(2), 2 * x.size(3)];
        let attributes = vec![
            text("mode", "nearest"),
            text("nearest_mode", "floor"),
            text("coordinate_transformation_mode", "asymmetric"),
        ];
        self.node(name, "Resize", &[&x.name, "", &scales], attributes, (shape, x.spread))
    }

    /// Merges all axes except the first.
    pub(crate) fn flatten(&mut self, x: &Value) -> Value {
        let name = self.name("Flatten");
        let shape = vec![x.size(0), x.shape.iter().skip(1).product()];
        self.node(name, "Flatten", &[&x.name], vec![integer("axis", 1)], (shape, x.spread))
    }

    pub(super) fn reshape(&mut self, x: &Value, shape: &[usize]) -> Value {
        let name = self.name("Reshape");
        let sizes = self.integers(format!("{name}.shape"), &dims(shape));
        self.node(name, "Reshape", &[&x.name, &sizes], Vec::new(), (shape.to_vec(), x.spread))
    }

    pub(super) fn transpose(&mut self, x: &Value, order: &[usize]) -> Value {
        let name = self.name("Transpose");
        let shape = order.iter().map(|&axis| x.size(axis)).collect();
        self.node(name, "Transpose", &[&x.name], vec![integers("perm", order)], (shape, x.spread))
    }
}
