//! [`Wanted`]: an input, with the model's information about it.

use npukit_graph::op::Transpose;
use npukit_graph::{Graph, Op, ValueId};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Compiled, Port};

use crate::model::Model;
use crate::numbers::assumed::{AssumedRanges, all_of};

/// Input that files are read for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    /// Name, and shape of a sample.
    pub port: Port,
    /// Element type; `None` without a model.
    pub element: Option<ElementType>,
    /// Channel axis, if known.
    pub channels: Option<usize>,
    /// Initial value if none is given, for inputs of a model that has one.
    pub initial: Option<Tensor>,
    /// Range of the values according to the model, if known.
    pub range: Option<[f64; 2]>,
}

impl Wanted {
    /// Whether the elements are real numbers; true without a model.
    pub fn is_real(&self) -> bool {
        self.element.is_none_or(ElementType::is_float)
    }
}

/// Returns the inputs of a program. Types come from `model`, from which it was compiled, otherwise
/// from the program.
pub(crate) fn of_program(compiled: &dyn Compiled, model: Option<&Model>) -> Vec<Wanted> {
    let mut inputs = of_ports(compiled.inputs(), model);
    for input in &mut inputs {
        let is_real = compiled.info().real_inputs.contains(&input.port.name);
        input.range = input.range.or_else(|| input.element.filter(|_| is_real).and_then(all_of));
    }
    inputs
}

/// Returns the inputs of a program compiled from `model`, or of a program for which only the ports
/// are known.
pub(crate) fn of_ports(ports: Vec<Port>, model: Option<&Model>) -> Vec<Wanted> {
    // Default: only declared ranges can be invalid.
    let ranges = model.map(|model| AssumedRanges::of(&model.graph, &[]).unwrap_or_default());
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
        let range = ranges.as_ref().and_then(|ranges| ranges.range(&port.name));
        Wanted { port, element, channels, initial, range }
    };
    ports.into_iter().map(wanted).collect()
}

/// Returns the inputs of a model.
pub(crate) fn of_model(model: &Model) -> Vec<Wanted> {
    of_ports(crate::model::ports(&model.graph), Some(model))
}

/// Maximum number of values to follow to an operator that determines channels, which is usually
/// among the first.
const FOLLOWED: usize = 64;

/// Returns the channel axis according to the first convolution or pooling, whose channels are the
/// last axis.
fn channels_by_use(graph: &Graph, port: &Port) -> Option<usize> {
    let input = graph.inputs.iter().copied().find(|&id| graph.value(id).name == port.name)?;
    let consumers = graph.consumers();
    // Values, with the input's axis for each of their axes.
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

/// Returns the result of an operator that keeps axes separate, with the input's axis for each of
/// its axes.
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

/// Possible numbers of channels of an image.
const PICTURE: [usize; 3] = [1, 3, 4];

/// Returns the channel axis by the sizes of the last three axes: the one that is small, or that
/// differs from two equal ones.
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
        // A program without a model.
        let [unknown] = &of_ports(vec![input.port.clone()], None)[..] else { panic!("one input") };
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
