//! Views: how a tensor of the graph lies in vectors of objects.
//!
//! Reshape, Transpose, Concat, Split, Slice, Pad and nearest Resize mostly only make a new view of
//! the same vectors; no instruction is needed.

use super::object::VecRef;

/// A tensor as vectors.
///
/// The elements, row-major, are cut into groups of `channels` (*pixels*); each pixel takes
/// `ceil(channels / N)` vectors (*blocks*), the last one filled up with lanes that are not read.
/// `channels` is the innermost axis of the tensor the vectors were made for; a reshape keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Shape of the tensor.
    pub shape: Vec<usize>,
    /// Elements of a pixel.
    pub channels: usize,
    /// The vectors, pixel by pixel, block by block.
    pub vectors: Vec<VecRef>,
}

/// Elements of a pixel of a tensor in its natural packing: its innermost axis.
pub fn natural_channels(shape: &[usize]) -> usize {
    // Default: a scalar is one element.
    shape.last().copied().unwrap_or(1)
}

impl View {
    /// Blocks of a pixel.
    pub fn blocks(&self, array_size: usize) -> usize {
        self.channels.div_ceil(array_size).max(1)
    }

    /// Number of pixels.
    pub fn pixels(&self, array_size: usize) -> usize {
        self.vectors.len() / self.blocks(array_size)
    }

    /// Vector and lane of element `element` (row-major).
    pub fn locate(&self, element: usize, array_size: usize) -> (VecRef, usize) {
        let (pixel, channel) = (element / self.channels, element % self.channels);
        let vector = pixel * self.blocks(array_size) + channel / array_size;
        (self.vectors[vector], channel % array_size)
    }

    /// Whether the innermost axis is what pixels were made of.
    pub fn is_natural(&self) -> bool {
        self.channels == natural_channels(&self.shape)
    }

    /// The same vectors under another shape of as many elements. Where both innermost axes fill
    /// whole vectors the packing becomes the natural one of the new shape.
    pub fn reshaped(&self, shape: &[usize], array_size: usize) -> Self {
        let natural = natural_channels(shape);
        let aligned = self.channels.is_multiple_of(array_size) && natural.is_multiple_of(array_size);
        let channels = if aligned { natural } else { self.channels };
        Self { shape: shape.to_vec(), channels, vectors: self.vectors.clone() }
    }
}
