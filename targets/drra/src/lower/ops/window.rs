//! Convolutions and pooling: windows of an image as vectors, which the driver gathers.

use npukit_graph::op::{AveragePool, Conv, Window};
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::dense::{FILE_WORDS, dots, tails};
use super::extremes::Extreme;
use super::layout::padded;
use super::scale::repeated;
use super::{operand, result};
use crate::isa::op::DpuMode;
use crate::lower::Lowering;
use crate::lower::format::{Products, largest_fraction};
use crate::lower::rounded::{Rounding, real};
use crate::machine::exec::word::integer;
use crate::program::gather::{Axes, Gather, Source, Tail, strides};
use crate::program::kernels::{Nest, Work};
use crate::program::plan::{Place, Task};

/// Image with its padding.
struct Image {
    source: Source,
    /// Images, rows, columns, channels.
    shape: [usize; 4],
}

impl Image {
    /// Creates the image of `x` with a fraction length and padding.
    fn new(
        lowering: &mut Lowering<'_>,
        node: &Node,
        x: ValueId,
        fraction: i32,
        pads: [usize; 4],
        around: Around,
    ) -> Result<Self, Reject> {
        let &[n, h, w, c] = lowering.graph.shape(x) else {
            return Err(Reject::new("its operand is not an image with four axes", "check the model"));
        };
        let source = lowering.read(node, x, fraction)?;
        if pads == [0; 4] {
            return Ok(Self { source, shape: [n, h, w, c] });
        }
        let shape = [n, h + pads[0] + pads[2], w + pads[1] + pads[3], c];
        let value = lowering.temporary(&node.name, shape.to_vec(), fraction);
        let tasks = match around {
            Around::Word(fill) => padded(source, &[n, h, w, c], &shape, &[0, pads[0], pads[1], 0], fill),
            Around::Border => bordered(&source, [n, h, w, c], pads),
        };
        lowering.push(node, value, tasks);
        Ok(Self { source: Source::Value(value), shape })
    }

    /// Returns the axes from window to window, and from tap to tap.
    fn windows(&self, window: &Window, output: [usize; 2]) -> (Axes, Axes) {
        let stride = strides(&self.shape);
        let axis = |count: usize, axis: usize, step: usize| (count, stride[axis] * step);
        let [down, right] = window.strides;
        let vectors = vec![axis(self.shape[0], 0, 1), axis(output[0], 1, down), axis(output[1], 2, right)];
        let taps = vec![
            axis(window.kernel[0], 1, window.dilations[0]),
            axis(window.kernel[1], 2, window.dilations[1]),
        ];
        (vectors, taps)
    }
}

/// Content of the padding.
#[derive(Clone, Copy, Debug)]
enum Around {
    /// A constant word.
    Word(i16),
    /// The nearest word of the border.
    Border,
}

/// Pads an image with its border: copies of the corners, edges and the middle.
fn bordered(source: &Source, [n, h, w, c]: [usize; 4], pads: [usize; 4]) -> Vec<Task> {
    let stride = strides(&[n, h + pads[0] + pads[2], w + pads[1] + pads[3], c]);
    // Each part along an axis has a destination, a size, a source, and a step in the source.
    let parts = |size: usize, before: usize, after: usize| {
        [(0, before, 0, 0), (before, size, 0, 1), (before + size, after, size.saturating_sub(1), 0)]
    };
    let rows = parts(h, pads[0], pads[2]).into_iter().filter(|rows| rows.1 > 0);
    rows.flat_map(|rows| parts(w, pads[1], pads[3]).map(|columns| (rows, columns)))
        .filter(|(_, columns)| columns.1 > 0)
        .map(|(rows, columns)| {
            let offset = rows.2 * w * c + columns.2 * c;
            let elements = vec![(n, h * w * c), (rows.1, rows.3 * w * c), (columns.1, columns.3 * c), (c, 1)];
            let vectors = vec![(1, 0)];
            let from = Gather { source: source.clone(), offset, vectors, elements, tail: Tail::None };
            let axes = vec![(n, stride[0]), (rows.1, stride[1]), (columns.1, stride[2]), (c, 1)];
            let to = Place { offset: rows.0 * stride[1] + columns.0 * stride[2], axes };
            Task::Move { from, to, shift: 0 }
        })
        .collect()
}

/// Lowers a convolution: filters of each group with the windows of its channels.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn conv(lowering: &mut Lowering<'_>, node: &Node, conv: &Conv) -> Result<(), Reject> {
    let (x, weights, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let &[kh, kw, channels, filters] = lowering.graph.shape(weights) else {
        return Err(Reject::new("its weights do not have four axes", "check the model"));
    };
    let bias = node.inputs.get(2).copied();
    let products = lowering.products([x, weights], y, bias)?;
    let Products { operands: [from_x, from_w], result: to_y, sum, .. } = products;
    let source = lowering.read(node, weights, from_w)?;
    let image = Image::new(lowering, node, x, from_x, conv.pads, Around::Word(0))?;
    let output = [lowering.graph.shape(y)[1], lowering.graph.shape(y)[2]];
    let (vectors, taps) = image.windows(&conv.window([kh, kw]), output);
    let pixels = image.shape[0] * output[0] * output[1];
    let (groups, of_group) = (conv.group.max(1), filters / conv.group.max(1));
    let mut tasks = Vec::new();
    for group in 0..groups {
        let elements = vec![(kh, kw * channels * filters), (kw, channels * filters), (channels, filters)];
        let (vectors_w, offset) = (vec![(of_group, 1)], group * of_group);
        let mut kernels =
            Gather { source: source.clone(), offset, vectors: vectors_w, elements, tail: Tail::None };
        let elements = [&taps[..], &[(channels, 1)]].concat();
        let (source, vectors) = (image.source.clone(), vectors.clone());
        let mut windows = Gather { source, offset: group * channels, vectors, elements, tail: Tail::None };
        if let Some(bias) = bias {
            (kernels.tail, windows.tail) = tails(lowering, bias, filters, &products)?;
            if let Tail::Each(words) = &mut kernels.tail {
                *words = words.iter().copied().cycle().skip(offset).take(of_group).collect();
            }
        }
        let to = Place { offset, axes: vec![(of_group, 1), (pixels, filters)] };
        tasks.push(match nest(sum, &image, &kernels, &windows) {
            Some(task) => task,
            None => dots(sum, kernels, windows, to)?,
        });
    }
    let to = lowering.unscaled(node, y, to_y);
    lowering.push(node, to, tasks);
    lowering.finish(node, to, y);
    Ok(())
}

/// Task of one filter over a small image with one channel. The windows are addressed in a register
/// file.
fn nest(work: Work, image: &Image, kernels: &Gather, windows: &Gather) -> Option<Task> {
    let [1, h, w, 1] = image.shape else { return None };
    // If the image fits a register file, so does its kernel, which is at most as large.
    let (size, taps) = (h * w, kernels.length());
    if kernels.count() != 1 || size > FILE_WORDS || kernels.tail != Tail::None {
        return None;
    }
    let level = |axis: &(usize, usize)| Some((axis.0, i64::try_from(axis.1).ok()?));
    // The innermost level comes first. An axis of one element needs no level.
    let axes: Vec<&(usize, usize)> =
        windows.vectors.iter().chain(&windows.elements).filter(|axis| axis.0 > 1).collect();
    let walk: Vec<(usize, i64)> = axes.into_iter().rev().map(level).collect::<Option<_>>()?;
    let results = windows.count();
    let nest = Nest {
        work,
        words: [size, taps],
        levels: [walk, vec![(taps, 1), (results, 0)]],
        results,
        period: taps,
    };
    let all = Gather::rows(windows.source.clone(), 1, size);
    let to = Place { offset: 0, axes: vec![(results, 1)] };
    Some(Task::Nest { nest, operands: [all, kernels.clone()], to })
}

/// Lowers the maximum of each window. If every window reaches a word of the border, the padding
/// repeats the border.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn max_pool(lowering: &mut Lowering<'_>, node: &Node, window: &Window) -> Result<(), Reject> {
    let y = result(node)?;
    let around = if reaches_border(window) { Around::Border } else { Around::Word(i16::MIN) };
    if !reaches_border(window) && window.pads != [0; 4] {
        // The padding is the smallest word, which has no spare bit.
        lowering.format.extension(DpuMode::MaxMinAcc, 0)?;
    }
    let windows = pooled(lowering, node, window, lowering.format.fraction(y), around)?;
    lowering.extreme_of(node, Extreme::Max, windows, y.0 as usize)
}

/// Whether every window has a word of the border.
pub(crate) fn reaches_border(window: &Window) -> bool {
    let [top, left, bottom, right] = window.pads;
    window.dilations == [1, 1] && top.max(bottom) < window.kernel[0] && left.max(right) < window.kernel[1]
}

/// Lowers the mean of each window as the sum of its words, each multiplied by its share.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn average_pool(lowering: &mut Lowering<'_>, node: &Node, pool: &AveragePool) -> Result<(), Reject> {
    if pool.window.pads != [0; 4] && !pool.count_include_pad {
        return Err(Reject::new(
            "means that exclude the padding (count_include_pad 0) are unsupported",
            "use a Pad before it, or set count_include_pad to 1",
        ));
    }
    let (x, y) = (operand(node, 0)?, result(node)?);
    let taps = pool.window.kernel[0] * pool.window.kernel[1];
    let share = Share::new(lowering, x, y, 1.0 / taps as f64)?;
    let windows = pooled(lowering, node, &pool.window, share.fraction, Around::Word(0))?;
    share.push(lowering, node, windows)
}

/// Factor that the words of a value are multiplied by before they are summed.
pub(super) struct Share {
    /// Fraction bits required of the value.
    pub fraction: i32,
    word: i16,
    /// Fraction bits of the factor's word.
    of_word: i32,
    work: Work,
    /// Fraction bits of sums.
    result: i32,
}

impl Share {
    /// Share for sums `y` of words of `x`.
    ///
    /// # Errors
    ///
    /// The operands would keep fewer than 4 bits.
    pub fn new(lowering: &Lowering<'_>, x: ValueId, y: ValueId, factor: f64) -> Result<Self, Reject> {
        let fraction = |id| lowering.format.fraction(id);
        let exact = largest_fraction([factor].into_iter());
        let products = lowering.format.products([fraction(x), exact], [false, true], fraction(y), None)?;
        let [fraction, of_word] = products.operands;
        let (word, work, result) = (integer(factor, of_word), products.sum, products.result);
        Ok(Self { fraction, word, of_word, work, result })
    }

    /// Appends the step that sums vectors.
    ///
    /// # Errors
    ///
    /// The reason why the node cannot be lowered, and what to change.
    pub fn push(&self, lowering: &mut Lowering<'_>, node: &Node, vectors: Gather) -> Result<(), Reject> {
        let (length, count) = (vectors.length(), vectors.count());
        let shares = Gather { elements: vec![(length, 0)], ..repeated(self.word, 1) };
        lowering.note(Rounding::Factor(real(self.word, self.of_word)));
        let task = dots(self.work, shares, vectors, Place { offset: 0, axes: vec![(1, 0), (count, 1)] })?;
        let y = result(node)?;
        let to = lowering.unscaled(node, y, self.result);
        lowering.push(node, to, vec![task]);
        lowering.finish(node, to, y);
        Ok(())
    }
}

/// Returns the windows of each channel.
fn pooled(
    lowering: &mut Lowering<'_>,
    node: &Node,
    window: &Window,
    fraction: i32,
    around: Around,
) -> Result<Gather, Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    if window.ceil_mode {
        return Err(Reject::new("ceil_mode is unsupported", "set ceil_mode to 0"));
    }
    let image = Image::new(lowering, node, x, fraction, window.pads, around)?;
    let output = [lowering.graph.shape(y)[1], lowering.graph.shape(y)[2]];
    let (mut vectors, elements) = image.windows(window, output);
    vectors.push((image.shape[3], 1));
    Ok(Gather { source: image.source, offset: 0, vectors, elements, tail: Tail::None })
}
