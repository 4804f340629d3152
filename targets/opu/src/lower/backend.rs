//! Last stage of the compiler: [`program`] makes a [`Program`] from the lowered model.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use npukit_target::ModelReading;

use super::Lowered;
use super::constants::Constants;
use super::host::{HostInput, HostOutput};
use super::limits::lanes;
use super::map::PlaneId;
use super::memory::PROGRAM;
use crate::config::{Config, Types};
use crate::program::layout::{Border, Group, Planes};
use crate::program::{Binding, Layer, Program, Segment};

/// Makes the program `name` for `config`, the instance named `instance`.
pub fn program(lowered: &Lowered, name: String, instance: String, config: &Config) -> Program {
    let model = &lowered.model;
    let segment = |address: u64, bytes: &[u8]| Segment { address: address as u32, bytes: bytes.to_vec() };
    let constants = [
        segment(lowered.plan.biases, &lowered.constants.biases),
        segment(lowered.plan.weights, &lowered.constants.weights),
    ];
    let layer = |(layer, span): (&super::layer::Layer, &super::Span)| Layer {
        name: layer.name.clone(),
        first: span.first,
        count: span.count,
        macs: layer.macs,
        results: layer.result.clone().into_iter().collect(),
    };
    Program {
        name,
        instance,
        config: config.clone(),
        address: PROGRAM as u32,
        instructions: lowered.ops.clone(),
        segments: constants.into_iter().filter(|segment| !segment.bytes.is_empty()).collect(),
        inputs: model.inputs.iter().map(|input| self::input(lowered, input)).collect(),
        outputs: model.outputs.iter().map(|output| self::output(lowered, output)).collect(),
        host_steps: model.outputs.iter().flat_map(|output| output.steps.clone()).collect(),
        layers: model.layers.iter().zip(&lowered.spans).map(layer).collect(),
        fractions: BTreeMap::new(),
        choices: BTreeMap::new(),
        warnings: warnings(lowered, &config.types),
        reading: ModelReading::new(),
    }
}

fn input(lowered: &Lowered, input: &HostInput) -> Binding {
    let (fraction, mut planes) = planes(lowered, &input.planes);
    // Loads read all lanes. Lanes after the channels are multiplied by zero but must contain
    // numbers.
    planes.groups.iter_mut().for_each(|group| group.lanes = lanes(group.channels as usize) as u32);
    let (name, shape, perm) = (input.name.clone(), input.shape.clone(), input.perm.clone());
    Binding { name, shape, perm, fraction, patches: input.patches, planes }
}

fn output(lowered: &Lowered, output: &HostOutput) -> Binding {
    let ids: Vec<PlaneId> = output.view.pieces.iter().map(|piece| piece.plane).collect();
    let (fraction, planes) = planes(lowered, &ids);
    let (name, shape, perm) = (output.name.clone(), output.shape.clone(), output.perm.clone());
    Binding { name, shape, perm, fraction, patches: None, planes }
}

/// Returns fraction length and location of a map; all its planes have the same form.
fn planes(lowered: &Lowered, ids: &[PlaneId]) -> (i32, Planes) {
    let planes = &lowered.model.planes;
    let group = |&id: &PlaneId| Group {
        address: lowered.plan.planes[id.0] as u32,
        channels: planes.get(id).channels as u32,
        lanes: 0,
    };
    let (fraction, [height, width], border) = ids.first().map_or((0, [0, 0], 0), |&id| {
        let plane = planes.get(id);
        (plane.fraction, plane.size.map(|size| size as u32), plane.border as u32)
    });
    let groups = ids.iter().map(group).collect();
    (fraction, Planes { height, width, pitch: width + 2 * border, border: Border::all(border), groups })
}

fn warnings(lowered: &Lowered, types: &Types) -> Vec<String> {
    saturated(&lowered.constants, types).into_iter().chain(lowered.model.notes.iter().cloned()).collect()
}

/// Number of layers that the warning on saturated constants names.
const NAMED: usize = 3;

/// Describes saturated weights and biases by layer, the worst first; `None` if all fit.
fn saturated(constants: &Constants, types: &Types) -> Option<String> {
    let count = match constants.saturated {
        0 => return None,
        1 => "1 weight or bias saturates".to_owned(),
        count => format!("{count} weights or biases saturate"),
    };
    let mut layers: Vec<&(String, u64)> = constants.saturated_layers.iter().collect();
    layers.sort_by_key(|(_, count)| Reverse(*count));
    let named: Vec<String> =
        layers.iter().take(NAMED).map(|(name, count)| format!("`{name}` ({count})")).collect();
    let more = match layers.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (plural, named) = (if layers.len() == 1 { "" } else { "s" }, named.join(", "));
    let wider = if types.ktype.size_bytes() == 1 { "int16" } else { "fp32" };
    Some(format!(
        "{count}, in layer{plural} {named}{more}: steps are chosen for the least error in total, and may be finer than the quantization's; `opu:{wider}` has a wider type"
    ))
}
