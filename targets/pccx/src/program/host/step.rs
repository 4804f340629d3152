//! [`HostStep`], and its encoding in the container.

use std::ops::Range;

use npukit_graph::ValueId;
use npukit_graph::op::Window;
use thiserror::Error;

use crate::program::HostOp;
use crate::program::host::cache::{CacheForm, Role};

/// Ranges of tokens of a cache.
pub type Tokens = Vec<Range<u32>>;

/// Host operation between two instructions. Window offsets are in units of 16 bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum HostStep {
    /// Fills a slot with the BF16 values that MEMCPY has written to a window.
    Receive {
        /// Slot to fill.
        slot: ValueId,
        /// Number of the window from L2 to the host.
        window: u32,
        /// First 16-byte unit in the window.
        unit: u32,
    },
    /// Writes the values of a slot, rounded to BF16, to a window for MEMCPY.
    Send {
        /// Slot to send.
        slot: ValueId,
        /// Number of the window from the host to L2.
        window: u32,
        /// First 16-byte unit in the window.
        unit: u32,
    },
    /// Computes a node of the host's graph in `f32`.
    Compute {
        /// Index of the node in the graph.
        node: u32,
    },
    /// Quantizes keys to weights `[tokens, features]`, with a scale per token (specification 5.5).
    Keys {
        /// Slot of the keys, `[.., features, tokens]`.
        slot: ValueId,
        /// Index of the matrix in the slot.
        matrix: u32,
        /// Index of the weight image.
        image: u32,
        /// Factor of all scales: the factor of the scores.
        factor: f32,
        /// Tokens whose keys are used.
        tokens: Tokens,
    },
    /// Quantizes values to weights `[features, tokens]` without scales; the scale of each token is
    /// stored in another slot.
    Values {
        /// Slot of the values, `[.., tokens, features]`.
        slot: ValueId,
        /// Index of the matrix in the slot.
        matrix: u32,
        /// Index of the weight image.
        image: u32,
        /// Slot of the scales, `[tokens]`.
        scales: ValueId,
        /// Tokens whose values are used.
        tokens: Tokens,
    },
    /// Multiplies elements of a slot, starting at `start`, by a slot of scales.
    Weigh {
        /// Slot to multiply.
        slot: ValueId,
        /// Index of the first element.
        start: u32,
        /// Slot of the scales.
        scales: ValueId,
    },
    /// Waits until all earlier instructions are complete, like every other step.
    Wait,
    /// Computes the sum of squares of each row of a slot.
    Squares {
        /// Slot of the rows.
        slot: ValueId,
        /// Number of values in a row.
        row: u32,
        /// Whether each row's mean is subtracted first.
        centered: bool,
        /// Slot of the sums, `[rows, 8]`: each sum fills a word of L2.
        sums: ValueId,
    },
    /// Sets the scales of an image's rows from elements of a slot.
    Scales {
        /// Slot of the scales.
        slot: ValueId,
        /// Index of the first element.
        start: u32,
        /// Index of the weight image.
        image: u32,
    },
    /// Fills a slot with the patches of the images in another slot, one row per patch, padded with
    /// zeros.
    Patches {
        /// Slot of the images, `[n, h, w, c]`.
        slot: ValueId,
        /// Slot of the patches, `[rows, values]`.
        patches: ValueId,
        /// Shape of the windows.
        window: Window,
    },
    /// Writes part of a slot, rounded to BF16, to a window for MEMCPY.
    Part {
        /// Slot to send.
        slot: ValueId,
        /// Index of the first value.
        start: u32,
        /// Number of values.
        values: u32,
        /// Number of the window from the host to L2.
        window: u32,
        /// First 16-byte unit in the window.
        unit: u32,
    },
    /// Quantizes the vectors of a row of a slot, and appends each to a cache of its own.
    Append {
        /// Slot of the rows, `[rows, vectors * features]`.
        slot: ValueId,
        /// Index of the row.
        row: u32,
        /// Index of the first vector's cache. The next vectors have the next caches.
        cache: u32,
        /// Number of vectors.
        vectors: u32,
        /// Form of the caches.
        form: CacheForm,
    },
    /// Makes weights of all vectors in a cache.
    Cached {
        /// Index of the cache.
        cache: u32,
        /// Part of the codes: 0 is the high one.
        part: u32,
        /// Index of the weight image.
        image: u32,
        /// Factor of all scales.
        factor: f32,
    },
    /// Fills a slot with the scales of the vectors in a cache, followed by zeros.
    CachedScales {
        /// Index of the cache.
        cache: u32,
        /// Slot of the scales, `[values]`.
        slot: ValueId,
    },
    /// Writes the rows of an image, followed by its scales in `f32`, to a window for MEMCPY.
    Weights {
        /// Index of the weight image.
        image: u32,
        /// Number of the window from the host to L2.
        window: u32,
        /// First 16-byte unit in the window.
        unit: u32,
    },
}

/// Codes of the kinds in the container.
mod kind {
    pub const RECEIVE: u32 = 0;
    pub const SEND: u32 = 1;
    pub const COMPUTE: u32 = 2;
    pub const KEYS: u32 = 3;
    pub const VALUES: u32 = 4;
    pub const WEIGH: u32 = 5;
    pub const WAIT: u32 = 6;
    pub const SQUARES: u32 = 7;
    pub const SCALES: u32 = 8;
    pub const WEIGHTS: u32 = 9;
    pub const PATCHES: u32 = 10;
    pub const PART: u32 = 11;
    pub const APPEND: u32 = 12;
    pub const CACHED: u32 = 13;
    pub const CACHED_SCALES: u32 = 14;
    pub const LAST: u32 = CACHED_SCALES;
}

/// Reason why a host operation is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    /// The kind is not defined in this version.
    #[error("host operation {index} is of kind {kind}: legal are 0 to {}", kind::LAST)]
    Kind {
        /// Index of the host operation.
        index: usize,
        /// Code of the kind.
        kind: u32,
    },
    /// The number of operands does not match the kind.
    #[error("host operation {index} of kind {kind} has {found} operands; it needs {expected}")]
    Operands {
        /// Index of the host operation.
        index: usize,
        /// Code of the kind.
        kind: u32,
        /// Number of operands given.
        found: usize,
        /// Description of the required operands.
        expected: &'static str,
    },
    /// A slot, node or image does not exist.
    #[error("host operation {index} refers to {what} {number}, but there are {count}")]
    Missing {
        /// Index of the host operation.
        index: usize,
        /// Kind of the missing item.
        what: &'static str,
        /// Number of the missing item.
        number: u32,
        /// Number of existing items.
        count: usize,
    },
    /// A range of tokens ends before it begins.
    #[error("host operation {index} takes tokens {start} to {end}: a range must end after its start")]
    Tokens {
        /// Index of the host operation.
        index: usize,
        /// First token of the range.
        start: u32,
        /// Token after the last one.
        end: u32,
    },
}

impl HostStep {
    /// Encodes the step as an operation before instruction `position`.
    pub fn encode(&self, position: u32) -> HostOp {
        let runs = |tokens: &Tokens| tokens.iter().flat_map(|run| [run.start, run.end]).collect::<Vec<_>>();
        let (kind, operands) = match self {
            Self::Receive { slot, window, unit } => (kind::RECEIVE, vec![slot.0, *window, *unit]),
            Self::Send { slot, window, unit } => (kind::SEND, vec![slot.0, *window, *unit]),
            Self::Compute { node } => (kind::COMPUTE, vec![*node]),
            Self::Weigh { slot, start, scales } => (kind::WEIGH, vec![slot.0, *start, scales.0]),
            Self::Wait => (kind::WAIT, Vec::new()),
            Self::Squares { slot, row, centered, sums } => {
                (kind::SQUARES, vec![slot.0, *row, u32::from(*centered), sums.0])
            }
            Self::Patches { slot, patches, window } => {
                let Window { kernel, strides, dilations, pads, .. } = window;
                let sizes = [&kernel[..], strides, dilations, pads].concat();
                let sizes = sizes.into_iter().map(|size| size as u32);
                (kind::PATCHES, [slot.0, patches.0].into_iter().chain(sizes).collect())
            }
            Self::Part { slot, start, values, window, unit } => {
                (kind::PART, vec![slot.0, *start, *values, *window, *unit])
            }
            Self::Append { slot, row, cache, vectors, form } => {
                let CacheForm { role, bits, window } = *form;
                let is_values = u32::from(role == Role::Values);
                // 0 encodes the absence of a window.
                let window = window.unwrap_or(0);
                (kind::APPEND, vec![slot.0, *row, *cache, *vectors, is_values, bits, window])
            }
            Self::Cached { cache, part, image, factor } => {
                (kind::CACHED, vec![*cache, *part, *image, factor.to_bits()])
            }
            Self::CachedScales { cache, slot } => (kind::CACHED_SCALES, vec![*cache, slot.0]),
            Self::Scales { slot, start, image } => (kind::SCALES, vec![slot.0, *start, *image]),
            Self::Weights { image, window, unit } => (kind::WEIGHTS, vec![*image, *window, *unit]),
            Self::Keys { slot, matrix, image, factor, tokens } => {
                let head = vec![slot.0, *matrix, *image, factor.to_bits()];
                (kind::KEYS, [head, runs(tokens)].concat())
            }
            Self::Values { slot, matrix, image, scales, tokens } => {
                (kind::VALUES, [vec![slot.0, *matrix, *image, scales.0], runs(tokens)].concat())
            }
        };
        HostOp { position, kind, operands }
    }

    /// Decodes host operation `index`.
    ///
    /// # Errors
    /// [`StepError::Kind`] for an undefined kind; [`StepError::Operands`] for a wrong number of
    /// operands; [`StepError::Tokens`] for illegal ranges of tokens.
    pub fn decode(index: usize, op: &HostOp) -> Result<Self, StepError> {
        let (kind, found) = (op.kind, op.operands.len());
        let wrong = |expected| StepError::Operands { index, kind, found, expected };
        match (kind, &op.operands[..]) {
            (kind::RECEIVE, &[slot, window, unit]) => Ok(Self::Receive { slot: ValueId(slot), window, unit }),
            (kind::SEND, &[slot, window, unit]) => Ok(Self::Send { slot: ValueId(slot), window, unit }),
            (kind::COMPUTE, &[node]) => Ok(Self::Compute { node }),
            (kind::WEIGH, &[slot, start, scales]) => {
                Ok(Self::Weigh { slot: ValueId(slot), start, scales: ValueId(scales) })
            }
            (kind::SQUARES, &[slot, row, centered @ 0..=1, sums]) if row > 0 => {
                let (slot, sums) = (ValueId(slot), ValueId(sums));
                Ok(Self::Squares { slot, row, centered: centered == 1, sums })
            }
            (kind::PATCHES, &[slot, patches, kh, kw, down, right, dy, dx, top, left, bottom, after]) => {
                let [kernel, strides, dilations] =
                    [[kh, kw], [down, right], [dy, dx]].map(|pair| pair.map(|size| size as usize));
                let pads = [top, left, bottom, after].map(|size| size as usize);
                let window = Window { kernel, strides, dilations, pads, ceil_mode: false };
                Ok(Self::Patches { slot: ValueId(slot), patches: ValueId(patches), window })
            }
            (kind::PATCHES, _) => Err(wrong("two slots, kernel, strides, dilations and pads")),
            (kind::PART, &[slot, start, values, window, unit]) => {
                Ok(Self::Part { slot: ValueId(slot), start, values, window, unit })
            }
            (kind::PART, _) => Err(wrong("a slot, an element, a number, a window and a unit")),
            (kind::APPEND, &[slot, row, cache, vectors, is_values @ 0..=1, bits @ (4 | 8), window]) => {
                let role = if is_values == 1 { Role::Values } else { Role::Keys };
                let form = CacheForm { role, bits, window: (window > 0).then_some(window) };
                Ok(Self::Append { slot: ValueId(slot), row, cache, vectors, form })
            }
            (kind::APPEND, _) => {
                Err(wrong("a slot, a row, a cache, a number, 0 or 1, 4 or 8 bits, and a window"))
            }
            (kind::CACHED, &[cache, part, image, factor]) => {
                Ok(Self::Cached { cache, part, image, factor: f32::from_bits(factor) })
            }
            (kind::CACHED, _) => Err(wrong("a cache, a part, an image and a factor")),
            (kind::CACHED_SCALES, &[cache, slot]) => Ok(Self::CachedScales { cache, slot: ValueId(slot) }),
            (kind::CACHED_SCALES, _) => Err(wrong("a cache and a slot")),
            (kind::SCALES, &[slot, start, image]) => Ok(Self::Scales { slot: ValueId(slot), start, image }),
            (kind::SCALES, _) => Err(wrong("a slot, an element and an image")),
            (kind::WEIGHTS, &[image, window, unit]) => Ok(Self::Weights { image, window, unit }),
            (kind::WEIGHTS, _) => Err(wrong("an image, a window and a unit")),
            (kind::SQUARES, _) => Err(wrong("a slot, the values of a row, 0 or 1, and a slot of sums")),
            (kind::WAIT, []) => Ok(Self::Wait),
            (kind::WAIT, _) => Err(wrong("none")),
            (kind::WEIGH, _) => Err(wrong("a slot, an element and a slot of scales")),
            (kind::RECEIVE | kind::SEND, _) => Err(wrong("a slot, a window and a unit")),
            (kind::COMPUTE, _) => Err(wrong("a node")),
            (kind::KEYS | kind::VALUES, &[slot, matrix, image, last, ref runs @ ..]) => {
                let slot = ValueId(slot);
                let tokens = tokens(index, runs)?.ok_or_else(|| wrong("an even number"))?;
                Ok(if kind == kind::KEYS {
                    Self::Keys { slot, matrix, image, factor: f32::from_bits(last), tokens }
                } else {
                    Self::Values { slot, matrix, image, scales: ValueId(last), tokens }
                })
            }
            (kind::KEYS | kind::VALUES, _) => Err(wrong("at least four")),
            _ => Err(StepError::Kind { index, kind }),
        }
    }
}

fn tokens(index: usize, runs: &[u32]) -> Result<Option<Tokens>, StepError> {
    let (pairs, rest) = runs.as_chunks::<2>();
    let mut tokens = Tokens::new();
    for &[start, end] in pairs {
        if end < start {
            return Err(StepError::Tokens { index, start, end });
        }
        tokens.push(start..end);
    }
    Ok(rest.is_empty().then_some(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every operation that can be decoded is encoded to the same; nothing panics.
        #[test]
        fn steps_survive_the_container(kind in 0u32..16, operands in prop::collection::vec(0u32..9, 0..13)) {
            let op = HostOp { position: 3, kind, operands };
            if let Ok(step) = HostStep::decode(0, &op) {
                prop_assert_eq!(step.encode(3), op);
            }
        }
    }
}
