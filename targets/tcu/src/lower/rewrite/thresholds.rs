//! Normalization and rectification in one SIMD pass instead of three.
//!
//! If factors are positive, `relu(f x + o) = f (max(x, t) - t)` with the threshold `t = -o / f`. If
//! it is only read by products whose windows stay on the image, they take `f` into their weights
//! and `-f t` into their bias.
//!
//! In a fixed-point format the products' new weights are rounded again. Thresholds and weights are
//! rounded here, and the bias is computed from the rounded values. A channel below its threshold
//! then still adds exactly zero. A factor far below one would leave weights few bits. Vectors with
//! such channels are multiplied by their factors first, in a second pass over these vectors only,
//! and the weights keep their precision.

use npukit_graph::op::{Binary, BinaryKind, Gemm};
use npukit_graph::{Graph, Node, NodeId, Op, ValueId};
use npukit_numeric::NumberFormat;

use super::{MAX_LOSS, add_floats, factors, floats, loss, name_of, set_operand};
use crate::config::Config;

/// Rewrites every pair of BatchNormalization and Relu that allows it.
pub fn rewrite(graph: &mut Graph, config: &Config) {
    let (format, lanes) = (config.data_type.format(), config.array_size);
    let mut index = 0;
    while index < graph.nodes.len() {
        if let Some(pair) = Pair::at(graph, index, format, lanes)
            && pair.apply(graph, format).is_some()
        {
            continue;
        }
        index += 1;
    }
}

/// Form of a channel after the rewrite.
#[derive(Clone, Copy)]
enum Channel {
    /// `factor (max(before x, threshold) - threshold)`; the threshold is a number of the format.
    Threshold { before: f64, factor: f64, threshold: f32 },
    /// This constant: the channel is below its threshold for every number of the format, or
    /// multiplied by zero.
    Constant(f64),
    /// `factor (before x) + addend`: the channel is above its threshold for every number of the
    /// format.
    Linear { before: f64, factor: f64, addend: f64 },
}

impl Channel {
    /// Returns the factor of the operand before the maximum.
    fn before(self) -> f64 {
        match self {
            Self::Threshold { before, .. } | Self::Linear { before, .. } => before,
            Self::Constant(_) => 1.0,
        }
    }

    /// Returns the threshold of the maximum.
    fn threshold(self, format: NumberFormat) -> f32 {
        match self {
            Self::Threshold { threshold, .. } => threshold,
            Self::Constant(_) => 0.0,
            Self::Linear { .. } => range(format).0,
        }
    }
}

/// A normalization, the rectification that is its only reader, and the products that read that.
struct Pair {
    norm: usize,
    relu: usize,
    channels: Vec<Channel>,
    /// New weights and bias of each reader.
    readers: Vec<Reader>,
}

/// A product whose weights and bias take up factors and offsets.
struct Reader {
    node: NodeId,
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl Pair {
    fn at(graph: &Graph, norm: usize, format: NumberFormat, lanes: usize) -> Option<Self> {
        let node = &graph.nodes[norm];
        let factors = factors(graph, node)?;
        let consumers = graph.consumers();
        let only_reader = |value: ValueId| match consumers[value.0 as usize].as_slice() {
            &[reader] if !graph.is_output(value) => Some(reader),
            _ => None,
        };
        let relu = only_reader(node.outputs[0])?;
        let Op::Relu(_) = graph.node(relu).op else { return None };
        let vectors = factors.chunks(lanes.max(1)).map(|vector| channels(vector, format));
        let channels = vectors.collect::<Option<Vec<_>>>()?.concat();
        let rectified = graph.node(relu).outputs[0];
        if graph.is_output(rectified) {
            return None;
        }
        let reader = |&node: &NodeId| Reader::new(graph, node, &channels, format);
        let readers = consumers[rectified.0 as usize].iter().map(reader).collect::<Option<_>>()?;
        Some(Self { norm, relu: relu.0 as usize, channels, readers })
    }

    fn apply(self, graph: &mut Graph, format: NumberFormat) -> Option<()> {
        let name = format!("{}+{}", graph.nodes[self.norm].name, graph.nodes[self.relu].name);
        let thresholds: Vec<f32> = self.channels.iter().map(|channel| channel.threshold(format)).collect();
        let thresholds = add_floats(graph, &format!("{name}/threshold"), vec![thresholds.len()], thresholds)?;
        let before: Vec<f32> = self.channels.iter().map(|channel| channel.before() as f32).collect();
        let before = match before.iter().any(|&factor| factor != 1.0) {
            true => Some(add_floats(graph, &format!("{name}/factor"), vec![before.len()], before)?),
            false => None,
        };
        for Reader { node, weights, bias } in self.readers {
            let old = graph.node(node).inputs[1];
            let shape = graph.shape(old).to_vec();
            let base = name_of(graph, old);
            let weights = add_floats(graph, &base, shape, weights)?;
            let bias = add_floats(graph, &format!("{base}/bias"), vec![bias.len()], bias)?;
            set_operand(graph, node, 1, weights);
            set_operand(graph, node, 2, bias);
            if let Op::MatMul(_) = graph.node(node).op {
                graph.nodes[node.0 as usize].op = Gemm::PLAIN.into();
            }
        }
        let (x, normalized) = (graph.nodes[self.norm].inputs[0], graph.nodes[self.norm].outputs[0]);
        let operand = if before.is_some() { normalized } else { x };
        let relu = &mut graph.nodes[self.relu];
        (relu.op, relu.inputs) = (Binary { kind: BinaryKind::Max }.into(), vec![operand, thresholds]);
        match before {
            Some(before) => {
                let norm = &mut graph.nodes[self.norm];
                (norm.op, norm.inputs) = (Binary { kind: BinaryKind::Mul }.into(), vec![x, before]);
            }
            None => {
                relu.name = name;
                graph.nodes.remove(self.norm);
            }
        }
        Some(())
    }
}

/// Returns the channels of a vector.
fn channels(factors: &[[f64; 2]], format: NumberFormat) -> Option<Vec<Channel>> {
    let present = factors.iter().map(|[factor, _]| *factor).filter(|&factor| factor > 0.0);
    let loss = loss(present, factors.len());
    factors.iter().map(|&factors| channel(factors, loss > MAX_LOSS, format)).collect()
}

/// Returns the form of a channel. A small factor is applied to the weights or, with `first`, to the
/// operand.
fn channel([factor, addend]: [f64; 2], first: bool, format: NumberFormat) -> Option<Channel> {
    if factor == 0.0 {
        return addend.is_finite().then_some(Channel::Constant(addend.max(0.0)));
    }
    if !(factor > 0.0 && factor.is_finite() && addend.is_finite()) {
        return None;
    }
    let before = if first { format.round(factor.min(1.0) as f32).into() } else { 1.0 };
    if before == 0.0 {
        return Some(Channel::Constant(addend.max(0.0)));
    }
    let factor = factor / before;
    let (lowest, highest) = range(format);
    let threshold = (-addend / factor) as f32;
    Some(if threshold < lowest {
        Channel::Linear { before, factor, addend }
    } else if threshold > highest {
        Channel::Constant(0.0)
    } else {
        Channel::Threshold { before, factor, threshold: format.round(threshold) }
    })
}

impl Reader {
    /// Creates a reader; `None` if the node is not a product with constants. A mean could be a
    /// reader too, but its sums would saturate, as the values are not clipped at zero.
    fn new(graph: &Graph, id: NodeId, channels: &[Channel], format: NumberFormat) -> Option<Self> {
        let node = graph.node(id);
        let (inputs, outputs) = Self::sizes(graph, node)?;
        if inputs != channels.len() {
            return None;
        }
        let old = floats(graph, *node.inputs.get(1)?)?;
        let mut bias: Vec<f64> = match node.inputs.get(2) {
            Some(&bias) => floats(graph, bias)?.iter().map(|&b| f64::from(b)).collect(),
            None => vec![0.0; outputs],
        };
        if bias.len() != outputs {
            return None;
        }
        let mut weights = Vec::with_capacity(old.len());
        for (row, old) in old.chunks_exact(outputs).enumerate() {
            for (&weight, bias) in old.iter().zip(&mut bias) {
                let (new, offset) = transformed(weight, channels[row % inputs], format)?;
                weights.push(new);
                *bias += offset;
            }
        }
        let bias = bias.into_iter().map(|b| b as f32).collect();
        Some(Self { node: id, weights, bias })
    }

    /// Returns the input and output channels of a product whose weights are rows of input channels.
    /// A grouped convolution is excluded: one group does not read all channels.
    fn sizes(graph: &Graph, node: &Node) -> Option<(usize, usize)> {
        let weights = graph.shape(*node.inputs.get(1)?);
        match &node.op {
            Op::Conv(conv) if conv.pads == [0; 4] => Some((weights[2], weights[3])),
            Op::Gemm(gemm) => (*gemm == Gemm::PLAIN).then(|| (weights[0], weights[1])),
            Op::MatMul(_) if weights.len() == 2 && graph.shape(node.inputs[0]).len() == 2 => {
                Some((weights[0], weights[1]))
            }
            _ => None,
        }
    }
}

/// Returns the new weight for a channel's old one, and its contribution to the bias; `None` if it
/// exceeds the format's range.
fn transformed(weight: f32, channel: Channel, format: NumberFormat) -> Option<(f32, f64)> {
    let scaled = |factor: f64| {
        let new = (f64::from(weight) * factor) as f32;
        let (lowest, highest) = range(format);
        (lowest..=highest).contains(&new).then(|| format.round(new))
    };
    Some(match channel {
        Channel::Constant(value) => (0.0, f64::from(weight) * value),
        Channel::Linear { factor, addend, .. } => (scaled(factor)?, f64::from(weight) * addend),
        Channel::Threshold { factor, threshold, .. } => {
            let new = scaled(factor)?;
            (new, -f64::from(new) * f64::from(threshold))
        }
    })
}

/// Returns the smallest and the largest number of the format.
fn range(format: NumberFormat) -> (f32, f32) {
    match format {
        NumberFormat::Fixed(fixed) => (fixed.to_f32(fixed.min()), fixed.to_f32(fixed.max())),
        NumberFormat::Float32 => (f32::MIN, f32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_zero_makes_a_constant() {
        let Some(Channel::Constant(value)) = channel([0.0, 2.5], false, NumberFormat::Float32) else {
            panic!("a constant channel has no threshold");
        };
        assert_eq!(value, 2.5);
        assert!(
            channel([-1.0, 0.0], false, NumberFormat::Float32).is_none(),
            "a negative factor reverses the order"
        );
    }
}
