//! Derives the range of an input from the operators that normalize it: [`range`].
//!
//! The first operators of a network are followed while they are affine: `y = scale * x + offset`,
//! for each channel. Networks are trained with `y` near 0 and with magnitude near 1, so scale and
//! offset show the range of `x`.

use npukit_graph::op::{BatchNormalization, Binary, BinaryKind};
use npukit_graph::{Graph, Node, NodeId, Op, ValueId};

use super::{Assumed, IMAGE};

/// Graph, and the nodes that read each of its values, indexed once for all inputs.
pub(super) struct Readers<'a> {
    graph: &'a Graph,
    readers: Vec<Vec<NodeId>>,
}

impl<'a> Readers<'a> {
    pub(super) fn of(graph: &'a Graph) -> Self {
        Self { graph, readers: graph.consumers() }
    }

    /// Returns the only node that reads a value, once or several times.
    fn only(&self, id: ValueId) -> Option<&'a Node> {
        let ids = &self.readers[id.0 as usize];
        let first = ids.first().filter(|&first| ids.last() == Some(first))?;
        Some(self.graph.node(*first))
    }
}

/// Returns the range that an input's normalization implies; `None` without normalization, or if it
/// is unusual.
pub(super) fn range(readers: &Readers<'_>, input: ValueId) -> Option<Assumed> {
    let affine = followed(readers, input)?;
    let (range, reason) = match affine.only_scale() {
        Some(scale) => (scaled(scale)?, "its values are divided by a constant"),
        None => (standardized(&affine)?, "its values are standardized"),
    };
    Some(Assumed { range, reason })
}

/// Affine function `y = scale * x + offset`, for each channel or for all.
struct Affine {
    channels: Vec<[f64; 2]>,
    /// Whether an operator added something.
    is_shifted: bool,
}

impl Affine {
    /// Returns the scale if there is one scale and no offset.
    fn only_scale(&self) -> Option<f64> {
        match self.channels[..] {
            [[scale, _]] if !self.is_shifted => Some(scale),
            _ => None,
        }
    }

    /// Appends an operator, `y = scale * x + offset` with one element per channel.
    fn then(&mut self, scales: &[f64], offsets: &[f64]) -> Option<()> {
        let count = scales.len().max(offsets.len()).max(self.channels.len());
        let at = |values: &[f64], index: usize| match values {
            [one] => Some(*one),
            _ => values.get(index).copied(),
        };
        let channel = |index| {
            let [scale, offset] = match self.channels[..] {
                [one] => one,
                _ => *self.channels.get(index)?,
            };
            let (more, shift) = (at(scales, index)?, at(offsets, index)?);
            Some([scale * more, offset * more + shift])
        };
        self.channels = (0..count).map(channel).collect::<Option<_>>()?;
        Some(())
    }
}

/// Maximum number of channels of a normalization: a larger constant is a tensor of weights.
const CHANNELS: usize = 64;

/// Returns the affine function that an input passes through first; `None` if it is not affine.
fn followed(readers: &Readers<'_>, input: ValueId) -> Option<Affine> {
    let graph = readers.graph;
    let mut affine = Affine { channels: vec![[1.0, 0.0]], is_shifted: false };
    let (mut at, mut steps) = (input, 0);
    while let Some(node) = readers.only(at) {
        match &node.op {
            Op::Transpose(_) | Op::Reshape(_) | Op::Cast(_) => {}
            Op::Binary(Binary { kind }) => {
                let Some(()) = take_binary(graph, node, at, *kind, &mut affine) else { break };
                steps += 1;
            }
            Op::BatchNormalization(BatchNormalization { epsilon }) => {
                let Some(()) = take_normalization(graph, node, *epsilon, &mut affine) else { break };
                steps += 1;
            }
            _ => break,
        }
        at = *node.outputs.first()?;
    }
    let is_usual = |[scale, offset]: &[f64; 2]| *scale != 0.0 && scale.is_finite() && offset.is_finite();
    (steps > 0 && affine.channels.iter().all(is_usual)).then_some(affine)
}

fn take_binary(graph: &Graph, node: &Node, at: ValueId, kind: BinaryKind, affine: &mut Affine) -> Option<()> {
    let [a, b] = node.inputs[..] else { return None };
    let constant = elements(graph, if a == at { b } else { a })?;
    let inverse = || constant.iter().map(|x| 1.0 / x).collect::<Vec<_>>();
    let negative = || constant.iter().map(|x| -x).collect::<Vec<_>>();
    affine.is_shifted |= matches!(kind, BinaryKind::Add | BinaryKind::Sub);
    match kind {
        BinaryKind::Mul => affine.then(&constant, &[0.0]),
        BinaryKind::Add => affine.then(&[1.0], &constant),
        BinaryKind::Div if a == at => affine.then(&inverse(), &[0.0]),
        BinaryKind::Sub if a == at => affine.then(&[1.0], &negative()),
        BinaryKind::Sub => affine.then(&[-1.0], &constant),
        _ => None,
    }
}

/// BatchNormalization contains the mean and the deviation of its operand; its scale and bias do not
/// matter.
fn take_normalization(graph: &Graph, node: &Node, epsilon: f32, affine: &mut Affine) -> Option<()> {
    let [_, _, _, mean, variance] = node.inputs[..] else { return None };
    let (means, variances) = (elements(graph, mean)?, elements(graph, variance)?);
    let scales: Vec<f64> =
        variances.iter().map(|variance| (variance + f64::from(epsilon)).sqrt().recip()).collect();
    let offsets: Vec<f64> = means.iter().zip(&scales).map(|(mean, scale)| -mean * scale).collect();
    affine.is_shifted = true;
    affine.then(&scales, &offsets)
}

/// Returns the elements of a constant with one element, or one per channel.
fn elements(graph: &Graph, id: ValueId) -> Option<Vec<f64>> {
    let constant = graph.constant(id).filter(|tensor| tensor.data().len() <= CHANNELS)?;
    let is_channels = constant.shape().iter().filter(|&&size| size > 1).count() <= 1;
    is_channels.then(|| constant.reals())
}

/// Returns the range of values that are only multiplied by `scale`: an image, if the results reach
/// about 1 or 2.
fn scaled(scale: f64) -> Option<[f64; 2]> {
    let largest = IMAGE[1] * scale.abs();
    (0.9..=2.1).contains(&largest).then_some(IMAGE)
}

/// Number of deviations on either side of the mean within which nearly all elements are.
const DEVIATIONS: f64 = 3.0;

/// Returns the range of standardized values: the mean plus and minus some deviations, over all
/// channels. For images, it is the range of pixel values.
fn standardized(affine: &Affine) -> Option<[f64; 2]> {
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for [scale, offset] in &affine.channels {
        let (mean, deviation) = (-offset / scale, scale.abs().recip());
        // A symmetric range is mapped to -1 to 1; its mean and deviation are half of its length.
        let is_half = (deviation - mean.abs()).abs() <= 0.02 * deviation;
        let reach = if is_half { deviation } else { DEVIATIONS * deviation };
        range = [range[0].min(mean - reach), range[1].max(mean + reach)];
    }
    let [low, high] = range;
    let means = || affine.channels.iter().map(|[scale, offset]| -offset / scale);
    let are_within = |low: f64, high: f64| means().all(|mean| (low..high).contains(&mean));
    Some(if are_within(60.0, 200.0) && high <= 700.0 {
        IMAGE
    } else if are_within(0.2, 0.8) && high <= 2.5 {
        [0.0, 1.0]
    } else if low < high && high.is_finite() && low.is_finite() {
        range
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use npukit_graph::ValueInfo;
    use npukit_numeric::{ElementType, Tensor};

    use super::*;

    /// Graph of `x`, and operators with constants one after the other.
    fn graph(steps: &[(BinaryKind, &[f32])]) -> (Graph, ValueId) {
        let mut graph = Graph::default();
        let info = ValueInfo { shape: vec![1, 4, 4, 3], element: ElementType::F32 };
        let input = graph.add_input("x", info);
        let mut at = input;
        for (place, (kind, values)) in steps.iter().enumerate() {
            let tensor = Tensor::from_f32(vec![values.len()], values.to_vec()).expect("as many as there are");
            let constant = graph.add_constant(format!("c{place}"), tensor);
            let (op, name) = (Op::from(Binary { kind: *kind }), format!("y{place}"));
            at = graph.add_node(name.clone(), op, vec![at, constant], &[&name]).expect("shapes fit")[0];
        }
        graph.outputs = vec![at];
        (graph, input)
    }

    fn found(steps: &[(BinaryKind, &[f32])]) -> Option<[f64; 2]> {
        let (graph, input) = graph(steps);
        range(&Readers::of(&graph), input).map(|assumed| assumed.range)
    }

    #[test]
    fn usual_normalizations_show_their_range() {
        use BinaryKind::{Add, Div, Mul, Sub};
        let (mean, deviation) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
        assert_eq!(found(&[(Div, &[255.0])]), Some(IMAGE));
        assert_eq!(found(&[(Mul, &[1.0 / 127.5]), (Add, &[-1.0])]), Some(IMAGE));
        assert_eq!(found(&[(Div, &[255.0]), (Sub, &mean), (Div, &deviation)]), Some(IMAGE));
        assert_eq!(found(&[(Sub, &[123.7, 116.8, 103.9])]), Some(IMAGE));
        assert_eq!(found(&[(Sub, &mean), (Div, &deviation)]), Some([0.0, 1.0]));
        assert_eq!(found(&[(Sub, &[0.5]), (Mul, &[2.0])]), Some([0.0, 1.0]));
        assert_eq!(found(&[(Sub, &[10.0]), (Div, &[5.0])]), Some([-5.0, 25.0]));
    }

    #[test]
    fn other_operators_show_nothing() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(BinaryKind::Mul, &[3.0])]), None);
        assert_eq!(found(&[(BinaryKind::Max, &[0.0])]), None);
    }
}
