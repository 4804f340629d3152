//! Convolutions and pooling: windows of an image as vectors, which the driver lays out.

use npukit_graph::op::{AveragePool, Conv, Window};
use npukit_graph::{Node, ValueId};

use super::dense::{FILE_WORDS, constant, dots, tails};
use super::layout::padded;
use super::{operand, result};
use crate::lower::format::integer;
use crate::lower::gather::{Axes, Gather, Tail, strides};
use crate::lower::kernels::{Nest, Work};
use crate::lower::plan::{Place, Source, Task};
use crate::lower::{Lowering, Reject};
use crate::op::DpuMode;

/// An image with its padding.
struct Image {
    source: Source,
    /// Images, rows, columns, channels.
    shape: [usize; 4],
}

impl Image {
    /// The image `x` with pads of `fill` around it.
    fn new(
        lowering: &mut Lowering<'_>,
        node: &Node,
        x: ValueId,
        pads: [usize; 4],
        fill: i16,
    ) -> Result<Self, Reject> {
        let &[n, h, w, c] = lowering.graph.shape(x) else {
            return Err(Reject::new("its operand is no image of four axes", "check the model"));
        };
        if pads == [0; 4] {
            let source = lowering.source(x, lowering.format.fraction(x))?;
            return Ok(Self { source, shape: [n, h, w, c] });
        }
        let value =
            padded(lowering, node, x, &[[0, 0], [pads[0], pads[2]], [pads[1], pads[3]], [0, 0]], fill)?;
        let shape = [n, h + pads[0] + pads[2], w + pads[1] + pads[3], c];
        Ok(Self { source: Source::Value(value), shape })
    }

    /// From window to window, and from tap to tap.
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

/// A convolution: each group's filters with the windows of its channels.
pub fn conv(lowering: &mut Lowering<'_>, node: &Node, conv: &Conv) -> Result<(), Reject> {
    let (x, weights, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let &[kh, kw, channels, filters] = lowering.graph.shape(weights) else {
        return Err(Reject::new("its weights do not have four axes", "check the model"));
    };
    let fraction = |id| lowering.format.fraction(id);
    let (from_x, from_w, to_y) = (fraction(x), fraction(weights), fraction(y));
    let shift = from_x + from_w - to_y;
    let work = lowering.format.sum_of_products(shift)?;
    let source = lowering.source(weights, from_w)?;
    let image = Image::new(lowering, node, x, conv.pads, 0)?;
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
        if let Some(&bias) = node.inputs.get(2) {
            (kernels.tail, windows.tail) = tails(lowering, bias, filters, to_y, shift)?;
            if let Tail::Each(words) = &mut kernels.tail {
                *words = words.iter().copied().cycle().skip(offset).take(of_group).collect();
            }
        }
        let to = Place { offset, axes: vec![(of_group, 1), (pixels, filters)] };
        tasks.push(match nest(work, &image, &kernels, &windows) {
            Some(task) => task,
            None => dots(work, kernels, windows, to)?,
        });
    }
    lowering.push(node, y.0 as usize, tasks);
    Ok(())
}

/// One filter over a small image of one channel, whose windows the addresses of a register file walk.
fn nest(work: Work, image: &Image, kernels: &Gather, windows: &Gather) -> Option<Task> {
    let [n, h, w, c] = image.shape;
    let (size, taps) = (n * h * w * c, kernels.length());
    let fits = kernels.count() == 1 && c == 1 && n == 1 && size <= FILE_WORDS && taps <= FILE_WORDS;
    if !fits || kernels.tail != Tail::None {
        return None;
    }
    let level = |axis: &(usize, usize)| Some((axis.0, i64::try_from(axis.1).ok()?));
    // The innermost level first; axes of one element need none.
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

/// The largest word of each window.
pub fn max_pool(lowering: &mut Lowering<'_>, node: &Node, window: &Window) -> Result<(), Reject> {
    let work = lowering.format.extension(DpuMode::MaxMinAcc, 0)?;
    let windows = pooled(lowering, node, window, i16::MIN)?;
    let (y, count) = (result(node)?, windows.count());
    let to = Place { offset: 0, axes: vec![(count, 1)] };
    lowering.push(node, y.0 as usize, vec![Task::Vectors { work, operands: vec![windows], to }]);
    Ok(())
}

/// The mean of each window: the sum of its words divided by their number.
pub fn average_pool(lowering: &mut Lowering<'_>, node: &Node, pool: &AveragePool) -> Result<(), Reject> {
    if pool.window.pads != [0; 4] && !pool.count_include_pad {
        return Err(Reject::new("means that leave padding out", "pad before, or count the padding"));
    }
    let (x, y) = (operand(node, 0)?, result(node)?);
    let (from, to) = (lowering.format.fraction(x), lowering.format.fraction(y));
    let bits = if lowering.format.extensions { 14 } else { to + lowering.format.fraction_bits - from };
    let work = lowering.format.sum_of_products(from + bits - to)?;
    let taps = pool.window.kernel[0] * pool.window.kernel[1];
    let share = integer(1.0 / taps as f64, bits);
    if share == 0 {
        return Err(Reject::new(
            format!("1/{taps} is 0 with {bits} fraction bits"),
            "use a dpu with fraction bits",
        ));
    }
    let windows = pooled(lowering, node, &pool.window, 0)?;
    let shares = Gather { elements: vec![(taps, 0)], ..Gather::rows(constant(share), 1, 1) };
    let place = Place { offset: 0, axes: vec![(1, 0), (windows.count(), 1)] };
    let task = dots(work, shares, windows, place)?;
    lowering.push(node, y.0 as usize, vec![task]);
    Ok(())
}

/// The windows of each channel.
fn pooled(lowering: &mut Lowering<'_>, node: &Node, window: &Window, fill: i16) -> Result<Gather, Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    if window.ceil_mode {
        return Err(Reject::new("windows that hang over the edge", "use ceil_mode 0"));
    }
    let image = Image::new(lowering, node, x, window.pads, fill)?;
    let output = [lowering.graph.shape(y)[1], lowering.graph.shape(y)[2]];
    let (mut vectors, elements) = image.windows(window, output);
    vectors.push((image.shape[3], 1));
    Ok(Gather { source: image.source, offset: 0, vectors, elements, tail: Tail::None })
}
