//! `npu verify --bounds`: bounds of errors and saturation for all inputs within ranges, compared
//! with observed errors.

use npukit_graph::Graph;
use npukit_numeric::{RoundingModel, SplitMix64, Tensor};
use npukit_target::{
    BoundedProgram, Compiled, HostStepReport, Phase, PossibleSaturation, RangeTensor, TargetError,
};
use npukit_verify::{Bounding, Corner, OutputBound};
use rayon::prelude::*;

use crate::Context;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Sample, wanted};
use crate::model::compile_job::CompileJob;
use crate::numbers::non_finite;
pub use crate::report::bounds::{OutputReport, Report, SaturationReport};
use crate::run::batch::{float, machine};
use crate::run::stack::Stack;

/// Parameters of bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Samples; each is the center of a box of inputs.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the samples.
    pub preprocess: Preprocess,
    /// Smallest and largest number of every input, without samples.
    pub range: Option<(f64, f64)>,
    /// Distance of inputs from a sample.
    pub radius: Radius,
    /// Whether to use the smallest box that contains the boxes of all samples.
    pub hull: bool,
    /// Whether to bound errors also for any direction of rounding.
    pub any_rounding: bool,
    /// Number of random inputs to run, in addition to the samples.
    pub random: usize,
}

/// Largest distance of inputs from a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radius {
    /// Absolute distance of each number.
    Of(f64),
    /// Half a step of the machine's numbers: inputs that the machine rounds to the sample.
    Half,
}

/// Distance 0: the sample alone.
impl Default for Radius {
    fn default() -> Self {
        Self::Of(0.0)
    }
}

type RangeBox = Vec<(String, RangeTensor)>;

/// Bounds the errors of a program of `origin`'s model.
pub(super) fn bounds(
    request: &Request,
    origin: &CompileJob,
    compiled: &dyn Compiled,
    context: Context<'_>,
) -> Result<Report, Error> {
    if !origin.exponents.is_empty() {
        let target = compiled.report().target;
        return Err(TargetError::Unsupported { target, verb: "verify --bounds of a rescaled program" }.into());
    }
    let program = compiled.in_bounds(&origin.model.simplified)?;
    let files = &request.inputs;
    let wanted = wanted::of_program(compiled, Some(&origin.model));
    let samples = match files.is_empty() {
        true => Vec::new(),
        false => inputs::samples(files, &wanted, &request.preprocess, context.reader, None)?.samples,
    };
    // A box between NaN or an infinity and another number has no bounds.
    non_finite::check(&samples)?;
    let boxes = boxes(request, &samples, &compiled.inputs(), &*program);
    let known = Known {
        machine: bounding(&*program, &boxes, RoundingModel::Machine)?,
        any: match request.any_rounding {
            true => Some(bounding(&*program, &boxes, RoundingModel::Any)?),
            false => None,
        },
    };
    let worst = worst(&boxes, &known.machine.worst);
    let runs = samples.into_iter().chain(drawn(&boxes, request.random)).chain(worst).collect::<Vec<Sample>>();
    let steps = compiled.report().host_steps;
    let not_run = not_comparable(&steps, &*program);
    let observed = match not_run.is_none() && !runs.is_empty() {
        true => Some(observed(&origin.model.graph, compiled, &runs)?),
        false => None,
    };
    let mut report =
        report(request, &known, program.has_constants_of_model(), observed.as_deref(), runs.len());
    report.not_run = not_run;
    for output in &mut report.outputs {
        output.before = steps.iter().find(|step| step.output == output.name).map(|step| step.op.clone());
    }
    Ok(report)
}

/// Returns why bounds cannot be compared with the model's outputs; `None` if they can.
fn not_comparable(steps: &[HostStepReport], program: &dyn BoundedProgram) -> Option<String> {
    let operators: Vec<&str> = steps.iter().map(|step| step.op.as_str()).collect();
    if !operators.is_empty() {
        return Some(format!("bounds are of values before steps on the host: {}", operators.join(", ")));
    }
    (!program.has_constants_of_model()).then(|| "the program has other constants than the model".to_owned())
}

/// Whether bounds can be compared with the model's outputs. They do not cover host steps after the
/// program.
pub(super) fn is_comparable(compiled: &dyn Compiled, program: &dyn BoundedProgram) -> bool {
    not_comparable(&compiled.report().host_steps, program).is_none()
}

/// Results of runs on ranges.
struct Known {
    /// Bounds with the machine's rounding.
    machine: Bounding,
    /// Bounds for any direction of rounding, if requested.
    any: Option<Bounding>,
}

/// Returns the boxes of inputs.
fn boxes(
    request: &Request,
    samples: &[Sample],
    ports: &[npukit_target::Port],
    program: &dyn BoundedProgram,
) -> Vec<RangeBox> {
    let about = |name: &str, value: f64| match request.radius {
        Radius::Of(radius) => (value - radius, value + radius),
        Radius::Half => program.cell(name, value),
    };
    if samples.is_empty() {
        let range = request.range.unwrap_or(RANGE);
        let tensor = |port: &npukit_target::Port| {
            let count = port.shape.iter().product();
            (port.name.clone(), RangeTensor { shape: port.shape.clone(), ranges: vec![range; count] })
        };
        return vec![ports.iter().map(tensor).collect()];
    }
    let around = |sample: &Sample| -> RangeBox {
        let tensor = |(name, tensor): &(String, Tensor)| {
            let values = tensor.as_f32().into_iter().flatten();
            let ranges = values.map(|&value| about(name, value.into())).collect();
            (name.clone(), RangeTensor { shape: tensor.shape().to_vec(), ranges })
        };
        sample.iter().map(tensor).collect()
    };
    let all = samples.iter().map(around);
    if request.hull { all.reduce(hull).into_iter().collect() } else { all.collect() }
}

/// Default range without samples.
const RANGE: (f64, f64) = (-1.0, 1.0);

/// Returns the smallest box that contains both.
fn hull(mut left: RangeBox, right: RangeBox) -> RangeBox {
    for ((_, left), (_, right)) in left.iter_mut().zip(&right) {
        for (left, right) in left.ranges.iter_mut().zip(&right.ranges) {
            *left = (left.0.min(right.0), left.1.max(right.1));
        }
    }
    left
}

fn bounding(
    program: &dyn BoundedProgram,
    boxes: &[RangeBox],
    rounding: RoundingModel,
) -> Result<Bounding, TargetError> {
    let phase = Phase::counting("bound", boxes.len());
    let one = |inputs: &RangeBox| {
        let bounding = program.run(inputs, rounding).map(Bounding::of);
        phase.advance();
        bounding
    };
    let merged = boxes.par_iter().map(one).try_reduce_with(|left, right| Ok(left.merged(right)));
    merged.expect("there is at least one box, without samples")
}

/// Draws random inputs from the boxes in turn. Empty if each box is a single input, or if a
/// range contains no `f32`.
fn drawn(boxes: &[RangeBox], count: usize) -> impl Iterator<Item = Sample> {
    let mut random = SplitMix64::new(1);
    let ranges = || boxes.iter().flatten().flat_map(|(_, tensor)| &tensor.ranges);
    let is_one = boxes.iter().all(is_one_input);
    let have_numbers = ranges().all(|&(low, high)| inside(low as f32, low, high).is_some());
    let count = if is_one || !have_numbers { 0 } else { count };
    boxes.iter().cycle().take(count).map(move |inputs| {
        let mut number = |&(low, high): &(f64, f64)| {
            let number = random.between(low, high) as f32;
            let number = inside(number, low, high).or_else(|| inside(low as f32, low, high));
            number.expect("the range contains a number, as checked before")
        };
        let mut tensor = |(name, ranges): &(String, RangeTensor)| {
            let numbers = ranges.ranges.iter().map(&mut number);
            let tensor = Tensor::from_f32(ranges.shape.clone(), numbers.collect());
            (name.clone(), tensor.expect("the number of elements matches the shape"))
        };
        inputs.iter().map(&mut tensor).collect()
    })
}

fn is_one_input(inputs: &RangeBox) -> bool {
    inputs.iter().flat_map(|(_, tensor)| &tensor.ranges).all(|(low, high)| low == high)
}

/// Returns the `f32` closest to `number` within a range, if there is one.
fn inside(number: f32, low: f64, high: f64) -> Option<f32> {
    let is_in = |number: &f32| (low..=high).contains(&f64::from(*number));
    [number, number.next_down(), number.next_up()].into_iter().find(is_in)
}

/// Returns the inputs at which bounds are reached. Empty for boxes of one input, or if a
/// range contains no `f32`.
fn worst(boxes: &[RangeBox], corners: &[Vec<Corner>]) -> Vec<Sample> {
    let sample = |inputs: &RangeBox, corner: &Corner| -> Option<Sample> {
        let tensor = |((name, tensor), (_, ends)): (&(String, RangeTensor), &(String, Vec<bool>))| {
            let number = |(&(low, high), &is_high): (&(f64, f64), &bool)| {
                inside(if is_high { high } else { low } as f32, low, high)
            };
            let numbers = tensor.ranges.iter().zip(ends).map(number).collect::<Option<_>>()?;
            Some((name.clone(), Tensor::from_f32(tensor.shape.clone(), numbers).ok()?))
        };
        inputs.iter().zip(corner).map(tensor).collect()
    };
    let open = boxes.iter().zip(corners).filter(|(inputs, _)| !is_one_input(inputs));
    open.flat_map(|(inputs, corners)| corners.iter().filter_map(|corner| sample(inputs, corner))).collect()
}

/// Returns the largest observed error of each output.
fn observed(graph: &Graph, compiled: &dyn Compiled, runs: &[Sample]) -> Result<Vec<f64>, Error> {
    let (machine, _) = machine(compiled, runs)?;
    let float = float(graph, runs)?;
    let largest = |stack: &Stack| {
        let other = float.iter().find(|other| other.name == stack.name);
        let pairs = other.into_iter().flat_map(|other| stack.samples.iter().zip(&other.samples));
        let numbers = pairs.flat_map(|(left, right)| {
            left.as_f32().into_iter().flatten().zip(right.as_f32().into_iter().flatten())
        });
        numbers.map(|(&left, &right)| (f64::from(left) - f64::from(right)).abs()).fold(0.0, f64::max)
    };
    Ok(machine.iter().map(largest).collect())
}

/// Tolerance for float rounding of the reference, as a share of the output's largest number.
const FLOATS: f64 = 1e-5;

fn report(
    request: &Request,
    Known { machine: bounding, any }: &Known,
    against_model: bool,
    observed: Option<&[f64]>,
    runs: usize,
) -> Report {
    let output = |(index, output): (usize, &OutputBound)| {
        let certified = finite(output.error);
        let observed = observed.and_then(|observed| observed.get(index).copied());
        OutputReport {
            name: output.name.clone(),
            before: None,
            certified,
            certified_any_rounding: any.as_ref().and_then(|any| finite(any.outputs.get(index)?.error)),
            observed,
            slack: certified.zip(observed.filter(|&observed| observed > 0.0)).map(|(all, some)| all / some),
            least: finite(*output.exact.start()),
            largest: finite(*output.exact.end()),
        }
    };
    let holds = observed.map(|observed| {
        bounding.outputs.iter().zip(observed).all(|(output, &observed)| {
            let float = FLOATS * output.exact.start().abs().max(output.exact.end().abs());
            observed <= output.error + float
        })
    });
    Report {
        inputs: described(request),
        boxes: bounding.boxes,
        against_model,
        outputs: bounding.outputs.iter().enumerate().map(output).collect(),
        observed_inputs: if observed.is_some() { runs } else { 0 },
        not_run: None,
        holds,
        cannot_saturate: bounding.saturations.is_empty(),
        saturations: bounding.saturations.iter().map(saturation).collect(),
        decided: bounding.decided,
        decided_any_rounding: any.as_ref().map(|any| any.decided),
    }
}

fn described(request: &Request) -> String {
    if request.inputs.is_empty() {
        let (low, high) = request.range.unwrap_or(RANGE);
        return format!("all numbers from {low} to {high}");
    }
    let about = match request.radius {
        Radius::Of(0.0) if request.hull => {
            return "each number in its range over the samples".to_owned();
        }
        Radius::Of(0.0) => return "the samples".to_owned(),
        Radius::Of(radius) => format!("all numbers within {radius} of a sample"),
        Radius::Half => "all numbers that the machine rounds to a sample's numbers".to_owned(),
    };
    if request.hull { about + ", and all numbers in between" } else { about }
}

fn saturation(saturation: &PossibleSaturation) -> SaturationReport {
    SaturationReport {
        instruction: saturation.instruction,
        layer: saturation.layer.clone(),
        lane: saturation.lane,
        below: finite(saturation.below),
        above: finite(saturation.above),
    }
}

fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}
