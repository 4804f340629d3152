//! `npu verify --bounds`: errors and saturation for all inputs of their ranges, beside what is observed.

use npukit_graph::Graph;
use npukit_numeric::{RoundingModel, SplitMix64, Tensor};
use npukit_target::{BoundedProgram, Compiled, Phase, PossibleSaturation, RangeTensor, TargetError};
use npukit_verify::{Bounding, Corner, OutputBound};
use rayon::prelude::*;

use crate::Context;
use crate::error::Error;
use crate::inputs::{self, InputFile, Preprocess, Sample, wanted};
use crate::model::origin::Origin;
use crate::numbers::finite;
pub use crate::report::bounds::{OutputReport, Report, SaturationReport};
use crate::run::batch::{float, machine};
use crate::run::stack::Stack;

/// What is asked of errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Samples: inputs are in a box about each.
    pub inputs: Vec<InputFile>,
    /// What is done to their values.
    pub preprocess: Preprocess,
    /// The least and the largest number of every input, where no samples say it.
    pub range: Option<(f64, f64)>,
    /// How far inputs may be from a sample.
    pub radius: Radius,
    /// Inputs are in the least box that holds those about all samples.
    pub hull: bool,
    /// Bounds errors also for results that are rounded whichever way.
    pub any_rounding: bool,
    /// Inputs to draw from the ranges and to run, besides the samples.
    pub random: usize,
}

/// How far inputs may be from a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radius {
    /// At most so far, each number.
    Of(f64),
    /// As far as the machine does not tell them from it: half a step of its numbers.
    Half,
}

/// The sample alone.
impl Default for Radius {
    fn default() -> Self {
        Self::Of(0.0)
    }
}

type RangeBox = Vec<(String, RangeTensor)>;

/// Bounds the errors of a program of `origin`'s model.
pub(super) fn bounds(
    request: &Request,
    origin: &Origin,
    compiled: &dyn Compiled,
    context: Context<'_>,
) -> Result<Report, Error> {
    if !origin.exponents.is_empty() {
        let target = compiled.report().target;
        return Err(TargetError::Unsupported { target, verb: "verify --bounds of a rescaled program" }.into());
    }
    let program = compiled.in_bounds(&origin.model.simplified)?;
    let files = &request.inputs;
    let wanted = wanted::of_program(compiled.inputs(), Some(&origin.model));
    let samples = match files.is_empty() {
        true => Vec::new(),
        false => inputs::samples(files, &wanted, &request.preprocess, context.reader, None)?.samples,
    };
    // Between NaN or an infinity and another number there is nothing to bound.
    finite::check(&samples)?;
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
    let observed = match is_comparable(compiled, &*program) && !runs.is_empty() {
        true => Some(observed(&origin.model.graph, compiled, &runs)?),
        false => None,
    };
    Ok(report(request, &known, program.has_constants_of_model(), observed.as_deref(), runs.len()))
}

/// Whether bounds are on the distance of a program's outputs to the model's: what the host does after the program is in no
/// bound.
pub(super) fn is_comparable(compiled: &dyn Compiled, program: &dyn BoundedProgram) -> bool {
    compiled.report().host_steps.is_empty() && program.has_constants_of_model()
}

/// What runs on ranges say.
struct Known {
    /// As the machine rounds.
    machine: Bounding,
    /// Whichever way it rounds, where that was asked for.
    any: Option<Bounding>,
}

/// What inputs may be.
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

/// Where neither samples nor a range are given.
const RANGE: (f64, f64) = (-1.0, 1.0);

/// The least box that holds both.
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
    merged.expect("there is a box, if only that of no sample")
}

/// Inputs that look random, from the boxes in turn: none where these have one number each, or a range without an `f32`.
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
            number.expect("there is one, as was looked at before")
        };
        let mut tensor = |(name, ranges): &(String, RangeTensor)| {
            let numbers = ranges.ranges.iter().map(&mut number);
            let tensor = Tensor::from_f32(ranges.shape.clone(), numbers.collect());
            (name.clone(), tensor.expect("as many as the shape says"))
        };
        inputs.iter().map(&mut tensor).collect()
    })
}

fn is_one_input(inputs: &RangeBox) -> bool {
    inputs.iter().flat_map(|(_, tensor)| &tensor.ranges).all(|(low, high)| low == high)
}

/// The `f32` nearest to `number` in a range, which another one may round to.
fn inside(number: f32, low: f64, high: f64) -> Option<f32> {
    let is_in = |number: &f32| (low..=high).contains(&f64::from(*number));
    [number, number.next_down(), number.next_up()].into_iter().find(is_in)
}

/// The inputs to which bounds point: none in boxes of one input, or with a range without an `f32`.
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

/// For each output of the program its largest error.
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

/// What floats of 24 bits may be from real arithmetic, as a share of an output's largest number.
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
        inputs: told(request),
        boxes: bounding.boxes,
        against_model,
        outputs: bounding.outputs.iter().enumerate().map(output).collect(),
        observed_inputs: if observed.is_some() { runs } else { 0 },
        holds,
        cannot_saturate: bounding.saturations.is_empty(),
        saturations: bounding.saturations.iter().map(saturation).collect(),
        decided: bounding.decided,
        decided_any_rounding: any.as_ref().map(|any| any.decided),
    }
}

fn told(request: &Request) -> String {
    if request.inputs.is_empty() {
        let (low, high) = request.range.unwrap_or(RANGE);
        return format!("all numbers from {low} to {high}");
    }
    let about = match request.radius {
        Radius::Of(0.0) if request.hull => {
            return "each number in the range that it has in the samples".to_owned();
        }
        Radius::Of(0.0) => return "the samples".to_owned(),
        Radius::Of(radius) => format!("all numbers at most {radius} from those of a sample"),
        Radius::Half => "all numbers that the machine has as those of a sample".to_owned(),
    };
    if request.hull { about + ", and all between" } else { about }
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
