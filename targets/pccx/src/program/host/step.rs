//! [`HostStep`], and its form in the container.

use std::ops::Range;

use npukit_graph::ValueId;
use npukit_graph::op::Window;
use thiserror::Error;

use crate::program::HostOp;

/// Tokens of a cache, in ranges.
pub type Tokens = Vec<Range<u32>>;

/// What the host does between two instructions. Windows count units of 16 bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum HostStep {
    /// A slot becomes the BF16 values that MEMCPY left in a window.
    Receive {
        /// The slot.
        slot: ValueId,
        /// Window from L2 to the host.
        window: u32,
        /// First unit.
        unit: u32,
    },
    /// A slot's values, rounded to BF16, go into a window for MEMCPY to fetch.
    Send {
        /// The slot.
        slot: ValueId,
        /// Window from the host to L2.
        window: u32,
        /// First unit.
        unit: u32,
    },
    /// Computes a node of the host's graph in `f32`.
    Compute {
        /// Its place in the graph.
        node: u32,
    },
    /// Keys to weights: a row for each token, `[tokens, features]`, with a scale each (specification 5.5).
    Keys {
        /// Keys, `[.., features, tokens]`.
        slot: ValueId,
        /// Which matrix of the slot.
        matrix: u32,
        /// The weight image.
        image: u32,
        /// Factor of every scale: that of the scores.
        factor: f32,
        /// Tokens taken.
        tokens: Tokens,
    },
    /// Values to weights: a row for each feature, `[features, tokens]`, without scales; the scale of each
    /// token goes to a slot of its own.
    Values {
        /// Values, `[.., tokens, features]`.
        slot: ValueId,
        /// Which matrix of the slot.
        matrix: u32,
        /// The weight image.
        image: u32,
        /// Slot of the scales, `[tokens]`.
        scales: ValueId,
        /// Tokens taken.
        tokens: Tokens,
    },
    /// Multiplies elements of a slot from `start` on by as many scales.
    Weigh {
        /// The slot.
        slot: ValueId,
        /// First element.
        start: u32,
        /// Slot of the scales.
        scales: ValueId,
    },
    /// Waits until everything before is complete, as every other step does too.
    Wait,
    /// The sum of the squares of each row of a slot.
    Squares {
        /// The slot.
        slot: ValueId,
        /// Values of a row.
        row: u32,
        /// Whether each row's mean is taken off before.
        centred: bool,
        /// Slot of the sums, `[rows, 8]`: each fills a word of L2.
        sums: ValueId,
    },
    /// Elements of a slot become the scales of an image's rows.
    Scales {
        /// The slot.
        slot: ValueId,
        /// First element.
        start: u32,
        /// The weight image.
        image: u32,
    },
    /// A slot becomes the patches that windows see of images in another, a row for each; zeros fill a row up.
    Patches {
        /// The images, `[n, h, w, c]`.
        slot: ValueId,
        /// Slot of the patches, `[rows, values]`.
        patches: ValueId,
        /// The windows.
        window: Window,
    },
    /// Values of a slot, rounded to BF16, go into a window for MEMCPY to fetch.
    Part {
        /// The slot.
        slot: ValueId,
        /// First value.
        start: u32,
        /// Number of values.
        values: u32,
        /// Window from the host to L2.
        window: u32,
        /// First unit.
        unit: u32,
    },
    /// Rows of an image, and behind them its scales in `f32`, go into a window for MEMCPY to fetch.
    Weights {
        /// The weight image.
        image: u32,
        /// Window from the host to L2.
        window: u32,
        /// First unit.
        unit: u32,
    },
}

/// Kinds in the container.
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
    pub const LAST: u32 = PART;
}

/// Why a host operation has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    /// A kind that this version does not define.
    #[error("host operation {index} is of kind {kind}: legal are 0 to {}", kind::LAST)]
    Kind {
        /// Which operation.
        index: usize,
        /// Its kind.
        kind: u32,
    },
    /// Not as many operands as the kind has.
    #[error("host operation {index} of kind {kind} has {found} operands; it takes {expected}")]
    Operands {
        /// Which operation.
        index: usize,
        /// Its kind.
        kind: u32,
        /// Operands it has.
        found: usize,
        /// Operands it takes.
        expected: &'static str,
    },
    /// A slot, node or image that is not there.
    #[error("host operation {index} names {what} {number}: there are {count}")]
    Missing {
        /// Which operation.
        index: usize,
        /// What is missing.
        what: &'static str,
        /// Its number.
        number: u32,
        /// How many there are.
        count: usize,
    },
    /// A range of tokens that ends before it begins.
    #[error("host operation {index} takes tokens {start} to {end}: a range ends after its start")]
    Tokens {
        /// Which operation.
        index: usize,
        /// First token.
        start: u32,
        /// One past the last.
        end: u32,
    },
}

impl HostStep {
    /// Its form in the container, done before instruction `position`.
    pub fn encode(&self, position: u32) -> HostOp {
        let runs = |tokens: &Tokens| tokens.iter().flat_map(|run| [run.start, run.end]).collect::<Vec<_>>();
        let (kind, operands) = match self {
            Self::Receive { slot, window, unit } => (kind::RECEIVE, vec![slot.0, *window, *unit]),
            Self::Send { slot, window, unit } => (kind::SEND, vec![slot.0, *window, *unit]),
            Self::Compute { node } => (kind::COMPUTE, vec![*node]),
            Self::Weigh { slot, start, scales } => (kind::WEIGH, vec![slot.0, *start, scales.0]),
            Self::Wait => (kind::WAIT, Vec::new()),
            Self::Squares { slot, row, centred, sums } => {
                (kind::SQUARES, vec![slot.0, *row, u32::from(*centred), sums.0])
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

    /// The meaning of host operation `index`.
    ///
    /// # Errors
    ///
    /// [`StepError::Kind`] for a kind that is not defined; [`StepError::Operands`] for another number of
    /// operands; [`StepError::Tokens`] for runs of tokens that are not legal.
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
            (kind::SQUARES, &[slot, row, centred @ 0..=1, sums]) if row > 0 => {
                let (slot, sums) = (ValueId(slot), ValueId(sums));
                Ok(Self::Squares { slot, row, centred: centred == 1, sums })
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
        /// Whatever decodes, encodes to the same; nothing panics.
        #[test]
        fn steps_survive_the_container(kind in 0u32..13, operands in prop::collection::vec(0u32..9, 0..13)) {
            let op = HostOp { position: 3, kind, operands };
            if let Ok(step) = HostStep::decode(0, &op) {
                prop_assert_eq!(step.encode(3), op);
            }
        }
    }
}
