//! Size limits of nodes on the machine. The host computes larger nodes.

use crate::config::WORD_LANES;

/// Maximum number of rows of an image, in whole words of results.
pub const MAX_ROWS: usize = u16::MAX as usize - WORD_LANES + 1;

/// Largest dimension of a constant entry.
pub const LARGEST: usize = u16::MAX as usize;

/// Maximum number of weights in the matrix of a convolution, including zeros between groups.
pub const MAX_WEIGHTS: usize = 1 << 24;

/// Maximum number of pieces in which the machine moves elements.
pub const MAX_PIECES: usize = 1024;

/// Maximum number of features of a rotated head: the rotation matrix is square with this size.
pub const MAX_FEATURES: usize = 1024;
