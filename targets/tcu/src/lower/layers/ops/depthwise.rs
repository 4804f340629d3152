//! Depthwise convolution: on the SIMD unit, a channel in each lane, where that is fewer cycles than a
//! product with square matrices that are zero off their diagonals.
//!
//! The array takes as long for a diagonal matrix as for a full one, but needs no input in the
//! accumulators. The SIMD unit takes as many cycles for each tap, and does not have to load a square of
//! weights for each: it wins where images are small, or where the input is in the accumulators already.

use npukit_graph::{NodeId, op};

use super::conv::{constant, has_weights};
use super::load_and;
use super::pool::may_take_windows;
use crate::lower::Order;
use crate::lower::layers::hir::{MatMul, Step, WeightedSum, Windows};
use crate::lower::layers::ops::product::floats;
use crate::lower::layers::{Builder, Chain, Reject};

/// Loads the image and convolves it on the SIMD unit; `None` when the array is to do it.
///
/// # Errors
///
/// As [`follow`], or an image without a view.
pub fn lower(builder: &mut Builder, id: NodeId, conv: &op::Conv) -> Result<Option<Chain>, Reject> {
    if Shapes::of(builder, id, conv).is_none() {
        return Ok(None);
    }
    let image = builder.graph.node(id).inputs[0];
    load_and(builder, id, image, |builder, chain, id| follow(builder, chain, id, conv))
}

/// What an instruction of the SIMD unit counts here. The estimator says 1; on the hardware, where each
/// waits for the accumulators' port, layers that gain less than this gives were slower (`npu time`).
const SIMD_CYCLES: usize = 2;

/// Convolves the grid on the SIMD unit; `false` when the array does it in fewer cycles, or nothing else can.
///
/// # Errors
///
/// More vectors than a program may list, or weights that DRAM1 does not hold.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId, conv: &op::Conv) -> Result<bool, Reject> {
    let node = builder.graph.node(id);
    // All but the first operand are constants: that one is the chain's.
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
    /// `[n, h, w]`.
    input: [usize; 3],
    /// `[n, h, w]`.
    output: [usize; 3],
    kernel: [usize; 2],
    /// Rows that the kernel reaches over, and rows from one window to the next.
    reach: usize,
    stride: usize,
    channels: usize,
    blocks: usize,
}

impl Shapes {
    /// `None` for another convolution, or where the SIMD unit cannot do it.
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

    /// The pixels under each window, and the tap that each meets.
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

    /// Cycles for all blocks, by the published estimator, of a product with diagonal matrices; `uses`
    /// counts the pixels under all taps.
    fn array_cycles(&self, builder: &Builder, chain: &Chain, uses: usize) -> u64 {
        let n = builder.array_size();
        let taps = self.kernel[0] * self.kernel[1];
        let inputs: usize = self.input.iter().product();
        let tiles = self.pixels().div_ceil(builder.config.accumulator_depth.max(1) as usize);
        // Weights come to local memory once, go to the array for each tile, and the array fills.
        let weights = taps * n + tiles * taps * (n + 1 + n);
        // A value in the accumulators is stored first, and comes back.
        let made = if is_loaded(chain) { 0 } else { inputs * (cycles_before(chain) + 3) };
        (self.blocks * (weights + uses + made)) as u64
    }

    /// The same on the SIMD unit, with [`SIMD_CYCLES`] an instruction; as many as there can be when not
    /// even a row of windows fits.
    fn simd_cycles(&self, builder: &Builder, chain: &Chain, uses: usize) -> u64 {
        let taps = self.kernel[0] * self.kernel[1];
        let [images, height, width] = self.input;
        let below = |rows: usize| ((rows - 1) * self.stride + self.reach).min(height);
        let room = builder.config.accumulator_depth as usize;
        let fits = |rows: &usize| rows * self.output[2] + below(*rows) * width + taps < room;
        let Some(rows) = (1..=self.output[1]).rev().find(fits) else { return u64::MAX };
        let tiles = images * self.output[1].div_ceil(rows);
        // Rows that two tiles read are made twice.
        let made = tiles * below(rows) * width * cycles_before(chain);
        let weights = taps + tiles * 2 * (taps + 1);
        (self.blocks * (weights + SIMD_CYCLES * (self.pixels() + uses) + made)) as u64
    }
}

/// Whether the grid was only loaded: the array takes it from local memory.
fn is_loaded(chain: &Chain) -> bool {
    matches!(chain.steps.as_slice(), [Step::Load(_)])
}

/// Cycles that a vector of the chain's grid takes.
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

    /// Two images of 7 x 5 pixels and 20 channels under a kernel of 3 x 2, its rows two apart, in steps of two rows:
    /// three rows of windows, five in each. Vectors of 16 lanes; a hundred pixels under all taps.
    fn cycles(accumulator_depth: u64, steps: Vec<Step>) -> [u64; 2] {
        let config =
            Config { array_size: 16, accumulator_depth, ..Config::preset("speech_robot").expect("a preset") };
        let mut graph = Graph { name: "net".to_owned(), ..Graph::default() };
        let info = |shape: &[usize]| ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
        let x = graph.add_input("x".to_owned(), info(&[2, 7, 5, 20]));
        let weights = npukit_numeric::Tensor::from_f32(vec![3, 2, 1, 20], vec![1.0; 120]).expect("as many");
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

    /// A kernel of 3 rows that are 2 apart touches the first and the fifth.
    #[test]
    fn a_kernel_reaches_over_its_rows_and_what_is_between_them() {
        let config = Config::preset("speech_robot").expect("a preset");
        for (rows, dilation, reach) in [(1, 3, 1), (2, 3, 4), (3, 1, 3), (3, 2, 5), (4, 3, 10)] {
            let mut graph = Graph { name: "net".to_owned(), ..Graph::default() };
            let x = ValueInfo { shape: vec![1, 12, 5, 4], element: ElementType::F32 };
            let x = graph.add_input("x".to_owned(), x);
            let weights = npukit_numeric::Tensor::from_f32(vec![rows, 1, 1, 4], vec![1.0; 4 * rows]);
            let weights = graph.add_constant("weights".to_owned(), weights.expect("as many"));
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

    /// Squares of 16 rows for six taps: to local memory once, into the array with a bias for each tile, which then
    /// fills; two blocks.
    #[test]
    fn an_array_takes_squares_of_weights_for_each_tile() {
        for (depth, tiles) in [(30, 1), (29, 2), (20, 2), (14, 3)] {
            assert_eq!(cycles(depth, vec![load()])[0], 2 * (6 * 16 + tiles * 6 * (17 + 16) + 100), "{depth}");
        }
    }

    /// Windows of one, two and three rows are above 5, 7 and 7 rows of the image, and six weights are beside them:
    /// 36, 51 and 56 accumulators are not enough, one more is. Weights come once and go to a register, with a bias,
    /// twice a tile.
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

    /// What the accumulators hold is stored and comes back for the array; what tiles share is made twice.
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
