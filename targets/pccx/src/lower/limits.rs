//! Sizes beyond which a node is the host's.

use crate::config::WORD_LANES;

/// Most rows of an image, in whole words of results.
pub const MAX_ROWS: usize = u16::MAX as usize - WORD_LANES + 1;

/// Largest dimension of a constant entry.
pub const LARGEST: usize = u16::MAX as usize;

/// Most weights of a matrix that a convolution becomes: those of groups stand apart in it, with zeros between.
pub const MOST_WEIGHTS: usize = 1 << 24;

/// Most pieces in which the machine moves elements.
pub const MAX_PIECES: usize = 1024;

/// Most features of a head that is rotated: the matrix that turns it has as many rows and columns.
pub const MAX_FEATURES: usize = 1024;
