//! [`Wanted`]: an input with what the model says of it beside its shape.

use npukit_graph::op::Transpose;
use npukit_graph::{Graph, Op, ValueId};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::Port;

use crate::model::Model;

/// An input that files are read for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    /// Its name and the shape of a sample.
    pub port: Port,
    /// Type of its elements; none when there is no model that says it.
    pub element: Option<ElementType>,
    /// The axis of its shape that is its channels, as far as that can be told.
    pub channels: Option<usize>,
    /// What it is when nothing is given for it, where the model says that.
    pub initial: Option<Tensor>,
}

impl Wanted {
    /// Whether its elements are real numbers, as those of a program without a model are.
    pub fn is_real(&self) -> bool {
        self.element.is_none_or(ElementType::is_float)
    }
}

/// The inputs of a program that is made from `model`, or of which only the ports are known; types are those of the model,
/// else of the ports.
pub(crate) fn of_program(ports: Vec<Port>, model: Option<&Model>) -> Vec<Wanted> {
    let wanted = |port: Port| {
        let graph = model.map(|model| (&model.graph, &model.simplified));
        let element = graph.and_then(|(graph, _)| {
            let is_it = |id: &&ValueId| graph.value(**id).name == port.name;
            graph.inputs.iter().find(is_it).map(|&id| graph.value(id).info.element)
        });
        let element = element.or(port.element);
        let by_graph = graph.and_then(|(_, simplified)| channels_by_use(simplified, &port));
        let channels = by_graph.or_else(|| channels_by_sizes(&port.shape));
        let states = model.map_or(&[][..], |model| &model.states);
        let initial =
            states.iter().find(|state| state.input == port.name && state.initial.shape() == port.shape);
        let initial = initial.map(|state| state.initial.clone());
        Wanted { port, element, channels, initial }
    };
    ports.into_iter().map(wanted).collect()
}

/// The inputs of a model.
pub(crate) fn of_model(model: &Model) -> Vec<Wanted> {
    of_program(crate::model::ports(&model.graph), Some(model))
}

/// Values that are followed to an operator that tells channels; networks begin with theirs.
const FOLLOWED: usize = 64;

/// The axis that the first convolution or pooling takes for channels, which is the last of its operand's.
fn channels_by_use(graph: &Graph, port: &Port) -> Option<usize> {
    let input = graph.inputs.iter().copied().find(|&id| graph.value(id).name == port.name)?;
    let consumers = graph.consumers();
    // Values with the axis of the input that each of their axes is.
    let mut values = vec![(input, (0..port.shape.len()).collect::<Vec<usize>>())];
    let mut next = 0;
    while next < values.len().min(FOLLOWED) {
        let (value, axes) = values[next].clone();
        next += 1;
        for node in consumers[value.0 as usize].iter().map(|&id| graph.node(id)) {
            match &node.op {
                Op::Conv(_) | Op::ConvTranspose(_) | Op::MaxPool(_) | Op::AveragePool(_)
                    if node.inputs.first() == Some(&value) && axes.len() == 4 =>
                {
                    return axes.last().copied();
                }
                op => values.extend(followed(graph, op, &node.outputs, &axes)),
            }
        }
    }
    None
}

/// The result of an operator that keeps axes apart, with the axes it has.
fn followed(graph: &Graph, op: &Op, outputs: &[ValueId], axes: &[usize]) -> Option<(ValueId, Vec<usize>)> {
    let output = *outputs.first()?;
    if graph.value(output).info.shape.len() != axes.len() {
        return None;
    }
    match op {
        Op::Transpose(Transpose { perm }) => {
            Some((output, perm.iter().filter_map(|&axis| axes.get(axis).copied()).collect()))
        }
        Op::Binary(_) | Op::BatchNormalization(_) | Op::Pad(_) | Op::QuantizeLinear(_) => {
            Some((output, axes.to_vec()))
        }
        op if npukit_graph::Operator::is_pointwise(op) => Some((output, axes.to_vec())),
        _ => None,
    }
}

/// Sizes of an axis that is the channels of a picture.
const PICTURE: [usize; 3] = [1, 3, 4];

/// The axis that is the channels by the sizes of the last three axes: the one that has few, or not that of a square.
pub(crate) fn channels_by_sizes(shape: &[usize]) -> Option<usize> {
    let rank = shape.len();
    let &[.., first, middle, last] = shape else { return None };
    if !(3..=4).contains(&rank) {
        return None;
    }
    match (PICTURE.contains(&first), PICTURE.contains(&last)) {
        (true, false) => Some(rank - 3),
        (false, true) => Some(rank - 1),
        _ if middle == last && first != middle => Some(rank - 3),
        _ if first == middle && middle != last => Some(rank - 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::ReadError;

    use super::*;
    use crate::model::ModelOptions;

    #[test]
    fn the_first_convolution_tells_channels_where_sizes_cannot() {
        let absent = |path: &str| Err(ReadError::Absent { path: path.to_owned() });
        let bytes = include_bytes!("../../../../tests/filetests/models/convolution.onnx");
        let model =
            crate::model::parse("convolution.onnx", bytes, &ModelOptions::default(), &absent).unwrap();
        let [input] = &of_model(&model)[..] else { panic!("one input") };
        assert_eq!((&input.port.shape[..], input.channels), (&[1, 2, 2, 2][..], Some(1)));
        assert_eq!(input.element, Some(ElementType::F32));
        assert_eq!(channels_by_sizes(&input.port.shape), None);
        // A program of nobody knows what.
        let [unknown] = &of_program(vec![input.port.clone()], None)[..] else { panic!("one input") };
        assert_eq!((unknown.channels, unknown.element), (None, None));
    }

    #[test]
    fn sizes_tell_channels_where_they_can() {
        for (shape, channels) in [
            (&[1, 3, 32, 32][..], Some(1)),
            (&[1, 32, 32, 3], Some(3)),
            (&[3, 32, 24], Some(0)),
            (&[1, 1, 4, 4], Some(1)),
            (&[1, 4, 4, 1], Some(3)),
            (&[1, 64, 56, 56], Some(1)),
            (&[1, 16, 17, 18], None),
            (&[1, 3, 3, 3], None),
            (&[1, 784], None),
            (&[], None),
        ] {
            assert_eq!(channels_by_sizes(shape), channels, "{shape:?}");
        }
    }
}
