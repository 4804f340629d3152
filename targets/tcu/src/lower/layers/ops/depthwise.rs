//! Depthwise convolution on the SIMD unit, one channel per lane, if that takes fewer cycles than a
//! product with diagonal matrices.
//!
//! The array takes as long for a diagonal matrix as for a full one, but needs no input in the
//! accumulators. The SIMD unit takes the same number of cycles per tap, but does not load a square
//! of weights for each. It is faster for small images, or if the input is already in the
//! accumulators.

use npukit_graph::{NodeId, op};

use super::conv::{constant, has_weights};
use super::load_and;
use super::pool::may_take_windows;
use crate::lower::Order;
use crate::lower::layers::hir::{MatMul, Step, WeightedSum, Windows};
use crate::lower::layers::ops::product::floats;
use crate::lower::layers::{Builder, Chain, Reject};

/// Loads the image and convolves it on the SIMD unit; `None` if the array should compute it.
///
/// # Errors
///
/// Fails like [`follow`], or for an image without a view.
pub fn lower(builder: &mut Builder, id: NodeId, conv: &op::Conv) -> Result<Option<Chain>, Reject> {
    if Shapes::of(builder, id, conv).is_none() {
        return Ok(None);
    }
    let image = builder.graph.node(id).inputs[0];
    load_and(builder, id, image, |builder, chain, id| follow(builder, chain, id, conv))
}

/// Assumed cycles per SIMD instruction. The estimator counts 1. On the hardware each instruction
/// waits for the accumulators' port, and layers that gain less than this factor were slower (`npu
/// time`).
const SIMD_CYCLES: usize = 2;

/// Convolves the grid on the SIMD unit. Returns `false` if the array takes fewer cycles, or if the
/// SIMD unit cannot compute it.
///
/// # Errors
///
/// Fails if it reads more vectors than a program may list, or the weights exceed DRAM1.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId, conv: &op::Conv) -> Result<bool, Reject> {
    let node = builder.graph.node(id);
    // All operands but the first are constants, so the first is the chain's value.
    let Some(shapes) = Shapes::of(builder, id, conv) else { return Ok(false) };
    if chain.channels != shapes.channels || !may_take_windows(chain) {
        return Ok(false);
    }
    builder.require_uses([shapes.kernel[0], shapes.kernel[1], shapes.pixels(), shapes.blocks])?;
    let (windows, which) = shapes.windows(conv);
    if shapes.simd_cycles(builder, chain, which.len()) >= shapes.array_cycles(builder, chain, which.len()) {
        return Ok(false);
    }
    let weights = constant(builder, node.inputs[1], "weights")?;
    let (elements, channels) = (floats(&weights), shapes.channels);
    let name = builder.graph.value(node.inputs[1]).name.clone();
    let taps = shapes.kernel[0] * shapes.kernel[1];
    let vectors = builder.constant_vectors(name, taps, channels, |tap, c| elements[tap * channels + c])?;
    let weights = vectors.chunks(shapes.blocks).map(<[_]>::to_vec).collect();
    let bias = match node.inputs.get(2) {
        Some(&value) => {
            let (name, bias) = (builder.graph.value(value).name.clone(), constant(builder, value, "bias")?);
            let elements = floats(&bias);
            builder.constant_vectors(name, 1, channels, |_, c| elements[c])?
        }
        None => Vec::new(),
    };
    chain.macs += (which.len() * channels) as u64;
    chain.pixels = windows.len();
    chain.steps.push(Step::WeightedSum(WeightedSum { windows, which, weights, bias }));
    Ok(true)
}

/// Sizes of a depthwise convolution.
struct Shapes {
    /// `[images, rows, columns]`.
    input: [usize; 3],
    /// `[images, rows, columns]`.
    output: [usize; 3],
    kernel: [usize; 2],
    /// Number of rows that the dilated kernel spans; `stride` is the distance between windows in
    /// rows.
    reach: usize,
    stride: usize,
    channels: usize,
    blocks: usize,
}

impl Shapes {
    /// Returns the sizes; `None` if the convolution is not depthwise, or the SIMD unit cannot
    /// compute it.
    fn of(builder: &Builder, id: NodeId, conv: &op::Conv) -> Option<Self> {
        let node = builder.graph.node(id);
        let image = |value| match builder.graph.shape(value) {
            &[images, rows, columns, channels] => Some(([images, rows, columns], channels)),
            _ => None,
        };
        let ((input, channels), (output, filters)) = (image(node.inputs[0])?, image(node.outputs[0])?);
        let weights = builder.graph.shape(node.inputs[1]);
        let depthwise = conv.group == channels && conv.group == filters && channels > 1;
        let possible = builder.config.simd_registers_depth > 0 && builder.order == Order::Default;
        if !depthwise || !possible || !has_weights(builder, id) || weights.len() != 4 {
            return None;
        }
        Some(Self {
            input,
            output,
            kernel: [weights[0], weights[1]],
            reach: (weights[0] - 1) * conv.dilations[0] + 1,
            stride: conv.strides[0],
            channels,
            blocks: channels.div_ceil(builder.array_size()),
        })
    }

    fn pixels(&self) -> usize {
        self.output.iter().product()
    }

    /// Returns the pixels under each window, and for each the tap that it meets.
    fn windows(&self, conv: &op::Conv) -> (Windows, Vec<u32>) {
        let ([_, height, width], [images, rows, columns]) = (self.input, self.output);
        let window = conv.window(self.kernel);
        let (mut windows, mut which) = (Windows::default(), Vec::new());
        for image in 0..images {
            for row in 0..rows {
                let down = window.span(0, row, height);
                for column in 0..columns {
                    let right = window.span(1, column, width);
                    let pairs = || {
                        let along = |(i, ky): (usize, usize)| {
                            let y = image * height + down.first + i * conv.dilations[0];
                            let tap = move |(j, kx): (usize, usize)| {
                                (y * width + right.first + j * conv.dilations[1], ky * self.kernel[1] + kx)
                            };
                            right.taps.clone().enumerate().map(tap)
                        };
                        down.taps.clone().enumerate().flat_map(along)
                    };
                    windows.push(pairs().map(|(pixel, _)| pixel as u32));
                    which.extend(pairs().map(|(_, tap)| tap as u32));
                }
            }
        }
        (windows, which)
    }

    /// Returns the estimator's cycles for all blocks of a product with diagonal matrices. `uses` is
    /// the number of pixels under all taps.
    fn array_cycles(&self, builder: &Builder, chain: &Chain, uses: usize) -> u64 {
        let n = builder.array_size();
        let taps = self.kernel[0] * self.kernel[1];
        let inputs: usize = self.input.iter().product();
        let tiles = self.pixels().div_ceil(builder.config.accumulator_depth.max(1) as usize);
        // Weights are read to local memory once. They enter the array for each tile, and then the
        // array fills.
        let weights = taps * n + tiles * taps * (n + 1 + n);
        // A value in the accumulators must first be stored to local memory and read back.
        let made = if is_loaded(chain) { 0 } else { inputs * (cycles_before(chain) + 3) };
        (self.blocks * (weights + uses + made)) as u64
    }

    /// Returns the cycles on the SIMD unit, with [`SIMD_CYCLES`] per instruction; `u64::MAX` if not
    /// even one row of windows fits.
    fn simd_cycles(&self, builder: &Builder, chain: &Chain, uses: usize) -> u64 {
        let taps = self.kernel[0] * self.kernel[1];
        let [images, height, width] = self.input;
        let below = |rows: usize| ((rows - 1) * self.stride + self.reach).min(height);
        let room = builder.config.accumulator_depth as usize;
        let fits = |rows: &usize| rows * self.output[2] + below(*rows) * width + taps < room;
        let Some(rows) = (1..=self.output[1]).rev().find(fits) else { return u64::MAX };
        let tiles = images * self.output[1].div_ceil(rows);
        // Rows that two tiles share are computed in both.
        let made = tiles * below(rows) * width * cycles_before(chain);
        let weights = taps + tiles * 2 * (taps + 1);
        (self.blocks * (weights + SIMD_CYCLES * (self.pixels() + uses) + made)) as u64
    }
}

/// Whether the grid was only loaded, so that the array can read it from local memory.
fn is_loaded(chain: &Chain) -> bool {
    matches!(chain.steps.as_slice(), [Step::Load(_)])
}

/// Returns the cycles that it takes to compute one vector of the chain's grid.
fn cycles_before(chain: &Chain) -> usize {
    let cycles = |step: &Step| match step {
        Step::MatMul(MatMul { terms, .. }) => terms.len(),
        Step::Binary { .. } => 3,
        Step::Formula(formula) => formula.operands().count(),
        _ => 1,
    };
    chain.steps.iter().map(cycles).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use npukit_graph::{Graph, ValueInfo};
    use npukit_numeric::ElementType;

    use super::*;
    use crate::config::Config;
    use crate::isa::op::SimdOp;
    use crate::lower::layers::hir::{Formula, Operand, Operation, Term};

    /// Two images of 7 x 5 pixels and 20 channels under a kernel of 3 x 2 with row dilation 2 and
    /// row stride 2. This gives three rows of five windows. Vectors have 16 lanes; a hundred pixels
    /// are under all taps.
    fn cycles(accumulator_depth: u64, steps: Vec<Step>) -> [u64; 2] {
        let config =
            Config { array_size: 16, accumulator_depth, ..Config::preset("speech_robot").expect("a preset") };
        let mut graph = Graph { name: "net".to_owned(), ..Graph::default() };
        let info = |shape: &[usize]| ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        let x = graph.add_input("x".to_owned(), info(&[2, 7, 5, 20]));
        let weights =
            npukit_numeric::Tensor::from_f32(vec![3, 2, 1, 20], vec![1.0; 120]).expect("the shape fits");
        let weights = graph.add_constant("weights".to_owned(), weights);
        let conv = op::Conv { strides: [2, 1], dilations: [2, 1], pads: [1, 1, 1, 0], group: 20 };
        let y = graph
            .add_node("conv".to_owned(), conv.clone().into(), vec![x, weights], &["y"])
            .expect("valid")[0];
        assert_eq!(graph.shape(y), [2, 3, 5, 20]);
        let builder = Builder::new(&graph, HashMap::new(), &config, Order::Default);
        let shapes = Shapes::of(&builder, NodeId(0), &conv).expect("a depthwise convolution");
        let chain = Chain { nodes: vec![], value: x, pixels: 70, channels: 20, macs: 0, steps, saved: false };
        [shapes.array_cycles(&builder, &chain, 100), shapes.simd_cycles(&builder, &chain, 100)]
    }

    /// A kernel of 3 rows with dilation 2 spans five rows.
    #[test]
    fn a_kernel_reaches_over_its_rows_and_what_is_between_them() {
        let config = Config::preset("speech_robot").expect("a preset");
        for (rows, dilation, reach) in [(1, 3, 1), (2, 3, 4), (3, 1, 3), (3, 2, 5), (4, 3, 10)] {
            let mut graph = Graph { name: "net".to_owned(), ..Graph::default() };
            let x = ValueInfo { shape: vec![1, 12, 5, 4], element: ElementType::F32 };
            let x = graph.add_input("x".to_owned(), x);
            let weights = npukit_numeric::Tensor::from_f32(vec![rows, 1, 1, 4], vec![1.0; 4 * rows]);
            let weights = graph.add_constant("weights".to_owned(), weights.expect("the shape fits"));
            let conv = op::Conv { strides: [1, 1], dilations: [dilation, 1], pads: [0; 4], group: 4 };
            graph.add_node("conv".to_owned(), conv.clone().into(), vec![x, weights], &["y"]).expect("valid");
            let builder = Builder::new(&graph, HashMap::new(), &config, Order::Default);
            let shapes = Shapes::of(&builder, NodeId(0), &conv).expect("a depthwise convolution");
            assert_eq!(shapes.reach, reach, "{rows} {dilation}");
        }
    }

    fn load() -> Step {
        Step::Load(Vec::new())
    }

    /// Two blocks. Squares of 16 rows for six taps come to local memory once. They enter the array
    /// with a bias for each tile, and then the array fills.
    #[test]
    fn an_array_takes_squares_of_weights_for_each_tile() {
        for (depth, tiles) in [(30, 1), (29, 2), (20, 2), (14, 3)] {
            assert_eq!(cycles(depth, vec![load()])[0], 2 * (6 * 16 + tiles * 6 * (17 + 16) + 100), "{depth}");
        }
    }

    /// One, two and three rows of windows need 5, 7 and 7 rows of the image, plus six weights. They
    /// do not fit in 36, 51 and 56 accumulators, but in one more. Weights come once and go to a
    /// register, with a bias, twice per tile.
    #[test]
    fn the_simd_unit_takes_all_rows_of_the_image_under_a_tile() {
        for (depth, expected) in [
            (36, u64::MAX),
            (37, 2 * (6 + 6 * 2 * 7 + 2 * (30 + 100) + 6 * 25)),
            (51, 2 * (6 + 6 * 2 * 7 + 2 * (30 + 100) + 6 * 25)),
            (52, 2 * (6 + 4 * 2 * 7 + 2 * (30 + 100) + 4 * 35)),
            (56, 2 * (6 + 4 * 2 * 7 + 2 * (30 + 100) + 4 * 35)),
            (57, 2 * (6 + 2 * 2 * 7 + 2 * (30 + 100) + 2 * 35)),
        ] {
            assert_eq!(cycles(depth, vec![load()])[1], expected, "{depth}");
        }
    }

    /// For the array, a value in the accumulators is stored and read back. For the SIMD unit, rows
    /// shared by tiles are computed twice.
    #[test]
    fn what_was_made_counts_by_its_steps() {
        let terms = || (0..4).map(|_| Term { inputs: Vec::new() }).collect();
        let product = || Step::MatMul(MatMul { terms: terms(), sets: Vec::new() });
        let binary = || Step::Binary { op: SimdOp::Max, vectors: Vec::new(), swapped: false };
        let operation = || Operation { op: SimdOp::Max, operand: Operand::Grid, swapped: false };
        let formula =
            || Step::Formula(Formula { first: Operand::Grid, operations: vec![operation(), operation()] });
        for (steps, each) in [
            (vec![product()], 4),
            (vec![load(), binary()], 1 + 3),
            (vec![load(), formula()], 1 + 3),
            (vec![product(), load()], 4 + 1),
        ] {
            let [array, simd] = cycles(57, steps.clone());
            assert_eq!(array, 2 * (6 * 16 + 6 * (17 + 16) + 100 + 70 * (each + 3)), "{steps:?}");
            assert_eq!(simd, 2 * (6 + 2 * 2 * 7 + 2 * (30 + 100) + 2 * 35 * each), "{steps:?}");
        }
    }
}
