//! Views: how a tensor of the graph is stored in vectors of objects.
//!
//! Reshape, Transpose, Concat, Split, Slice, Pad and nearest Resize mostly create a new view of the
//! same vectors, without any instruction.

use super::object::VecRef;

/// A tensor as vectors.
///
/// The elements, in row-major order, are divided into groups of `channels` (*pixels*). Each pixel
/// takes `ceil(channels / N)` vectors (*blocks*); the last one is padded with lanes that are never
/// read. `channels` is the innermost axis of the tensor for which the vectors were created; a
/// reshape keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Shape of the tensor.
    pub shape: Vec<usize>,
    /// Number of elements per pixel.
    pub channels: usize,
    /// Vectors, pixel by pixel, block by block.
    pub vectors: Vec<VecRef>,
}

/// Returns the number of elements per pixel in the natural packing of a tensor: its innermost axis.
pub fn natural_channels(shape: &[usize]) -> usize {
    // Default: a scalar is one element.
    shape.last().copied().unwrap_or(1)
}

impl View {
    /// Returns the number of blocks per pixel.
    pub fn blocks(&self, array_size: usize) -> usize {
        self.channels.div_ceil(array_size).max(1)
    }

    /// Returns the number of pixels.
    pub fn pixels(&self, array_size: usize) -> usize {
        self.vectors.len() / self.blocks(array_size)
    }

    /// Returns the vector and lane of element `element` (row-major).
    pub fn locate(&self, element: usize, array_size: usize) -> (VecRef, usize) {
        let (pixel, channel) = (element / self.channels, element % self.channels);
        let vector = pixel * self.blocks(array_size) + channel / array_size;
        (self.vectors[vector], channel % array_size)
    }

    /// Whether the pixels consist of the innermost axis.
    pub fn is_natural(&self) -> bool {
        self.channels == natural_channels(&self.shape)
    }

    /// Returns the same vectors under another shape with the same number of elements. If both
    /// innermost axes fill whole vectors, the packing becomes the natural one of the new shape.
    pub fn reshaped(&self, shape: &[usize], array_size: usize) -> Self {
        let natural = natural_channels(shape);
        let aligned = self.channels.is_multiple_of(array_size) && natural.is_multiple_of(array_size);
        let channels = if aligned { natural } else { self.channels };
        Self { shape: shape.to_vec(), channels, vectors: self.vectors.clone() }
    }
}
