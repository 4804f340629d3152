//! Windows, and pooling over them.

use npukit_import::onnx::proto::AttributeProto;

use super::{Builder, Value, integers};

/// A window that moves over height and width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: [usize; 2],
    /// Padding: rows above, columns left, rows below, columns right.
    pub(crate) pads: [usize; 4],
}

impl Window {
    /// Creates a square window without padding.
    pub(crate) const fn valid(kernel: usize, stride: usize) -> Self {
        Self { kernel: [kernel; 2], stride: [stride; 2], pads: [0; 4] }
    }

    /// Creates a square window of odd size, padded by half of it on all sides.
    pub(crate) const fn centered(kernel: usize, stride: usize) -> Self {
        Self { pads: [kernel / 2; 4], ..Self::valid(kernel, stride) }
    }

    pub(crate) const fn padded(self, pads: [usize; 4]) -> Self {
        Self { pads, ..self }
    }

    /// Returns the number of rows or columns of the result for `axis` (0 is height) of an image of
    /// `size`.
    fn positions(&self, axis: usize, size: usize) -> usize {
        (size + self.pads[axis] + self.pads[axis + 2] - self.kernel[axis]) / self.stride[axis] + 1
    }

    pub(super) fn shape(&self, x: &Value, channels: usize) -> Vec<usize> {
        vec![x.size(0), channels, self.positions(0, x.size(2)), self.positions(1, x.size(3))]
    }

    /// Returns the number of taps on the image, over all positions.
    pub(super) fn taps(&self, x: &Value) -> u64 {
        let on_image = |axis: usize, size: usize| -> u64 {
            let inside = |position: usize, tap: usize| {
                (self.pads[axis]..self.pads[axis] + size).contains(&(position * self.stride[axis] + tap))
            };
            let taps = |position| (0..self.kernel[axis]).filter(|&tap| inside(position, tap)).count() as u64;
            (0..self.positions(axis, size)).map(taps).sum()
        };
        on_image(0, x.size(2)) * on_image(1, x.size(3))
    }

    /// Returns the number of taps over all positions.
    pub(super) fn padded_taps(&self, x: &Value) -> u64 {
        let all = |axis: usize, size: usize| (self.positions(axis, size) * self.kernel[axis]) as u64;
        all(0, x.size(2)) * all(1, x.size(3))
    }

    pub(super) fn attributes(&self) -> Vec<AttributeProto> {
        vec![
            integers("kernel_shape", &self.kernel),
            integers("strides", &self.stride),
            integers("pads", &self.pads),
        ]
    }
}

impl Builder {
    /// Adds maximum pooling of rectified values.
    pub(crate) fn max_pool(&mut self, x: &Value, window: Window) -> Value {
        let name = self.name("MaxPool");
        let spread = x.spread.largest_of(window.kernel.iter().product());
        let shape = window.shape(x, x.size(1));
        self.node(name, "MaxPool", &[&x.name], window.attributes(), (shape, spread))
    }

    /// Adds the mean of each channel.
    pub(crate) fn global_average_pool(&mut self, x: &Value) -> Value {
        let name = self.name("GlobalAveragePool");
        let spread = x.spread.mean_of(x.size(2) * x.size(3));
        let shape = vec![x.size(0), x.size(1), 1, 1];
        self.node(name, "GlobalAveragePool", &[&x.name], Vec::new(), (shape, spread))
    }
}
