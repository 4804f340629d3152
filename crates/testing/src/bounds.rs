//! Error bounds: observed errors stay below them, and known numbers equal the machine's.

use npukit_graph::evaluate;
use npukit_numeric::{Bounded, RoundingModel, Tensor};
use npukit_target::{BoundedProgram, BoundedTensor, Compiled, Output, RangeTensor, TargetError};

use crate::compiled::Subject;
use crate::{Random, Suite};

/// Inputs that are tried per box.
const TRIED: usize = 6;
/// Largest error of 24-bit floats relative to exact arithmetic, as a share of the largest number of
/// the tensor.
const FLOATS: f64 = 1e-5;

/// Size of a box around a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Width {
    /// All inputs that quantize to the same numbers.
    Cell,
    /// This distance in both directions.
    Radius(f64),
}

const WIDTHS: [Width; 5] =
    [Width::Radius(0.0), Width::Cell, Width::Radius(0.004), Width::Radius(0.1), Width::Radius(1.5)];

impl Suite {
    /// Tests error bounds on small and random graphs with boxes of inputs. For inputs of the box,
    /// outputs differ from the graph's by at most the bound, with either rounding. If a box is a
    /// single input for the machine, its results are known to the last bit. Skips instances without
    /// bounds.
    pub fn bounds(&self) {
        let mut boxes = 0;
        self.each_compiled(|_, subject, compiled| boxes += bounded(subject, compiled));
        if boxes > 0 {
            self.each_random(|subject, compiled| boxes += bounded(subject, compiled));
            assert!(boxes >= 80, "{boxes} boxes");
        }
    }
}

/// Tests boxes of inputs; returns their number.
fn bounded(subject: &Subject, compiled: &dyn Compiled) -> usize {
    if !compiled.report().host_steps.is_empty() {
        return 0;
    }
    let program = match compiled.in_bounds(&subject.graph) {
        Ok(program) => program,
        Err(TargetError::Unsupported { .. }) => return 0,
        Err(error) => panic!("{}: {error:?}", subject.name),
    };
    assert!(program.has_constants_of_model(), "{}", subject.name);
    for width in WIDTHS {
        tried(subject, compiled, &*program, width);
    }
    WIDTHS.len()
}

fn tried(subject: &Subject, compiled: &dyn Compiled, program: &dyn BoundedProgram, width: Width) {
    let ranges = |(name, tensor): &(String, Tensor)| {
        let about = |&value: &f32| match width {
            Width::Cell => program.cell(name, value.into()),
            Width::Radius(radius) => (f64::from(value) - radius, f64::from(value) + radius),
        };
        let ranges = tensor.as_f32().into_iter().flatten().map(about).collect();
        (name.clone(), RangeTensor { shape: tensor.shape().to_vec(), ranges })
    };
    let ranges: Vec<(String, RangeTensor)> = subject.inputs().iter().map(ranges).collect();
    let run = |rounding| {
        let run = program.run(&ranges, rounding);
        run.unwrap_or_else(|error| panic!("{}: {error}", subject.name))
    };
    let [known, any] = [RoundingModel::Machine, RoundingModel::Any].map(run);
    let corners = known.outputs.iter().flat_map(|output| &output.elements);
    let corners: Vec<_> =
        corners.take(TRIED).map(|element| corner(element, &known.inputs, &ranges)).collect();
    let [known, any] = [known, any].map(|run| run.outputs);
    let mut random = Random::new(7);
    let drawn = |trial: usize| {
        ranges.iter().map(|(name, ranges)| (name.clone(), drawn(ranges, trial, &mut random))).collect()
    };
    let drawn: Vec<Vec<(String, Tensor)>> = (0..TRIED).map(drawn).collect();
    for (trial, inputs) in drawn.into_iter().chain(corners).enumerate() {
        let tensors: Vec<Tensor> = inputs.iter().map(|(_, tensor)| tensor.clone()).collect();
        let expected = evaluate(&subject.graph, &tensors);
        let expected = expected.unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        let found = compiled.run(&inputs).unwrap_or_else(|error| panic!("{}: {error}", subject.name));
        for (index, (found, expected)) in found.outputs.iter().zip(&expected).enumerate() {
            let what = format!("{}, {width:?}, input {trial}", subject.name);
            is_within(&what, &known[index], found, expected);
            is_within(&what, &any[index], found, expected);
            if matches!(width, Width::Cell | Width::Radius(0.0)) {
                is_known(&what, &known[index], found);
            }
        }
    }
}

/// Corner of a box at which the error of an element is likely to reach its bound.
fn corner(
    element: &Bounded,
    inputs: &[BoundedTensor],
    ranges: &[(String, RangeTensor)],
) -> Vec<(String, Tensor)> {
    let tensor = |(input, (name, tensor)): (&BoundedTensor, &(String, RangeTensor))| {
        assert_eq!(input.name, *name);
        let ends = element.worst(&input.elements).into_iter();
        let numbers =
            ends.zip(&tensor.ranges).map(|(is_high, range)| within(range, f64::from(u8::from(is_high))));
        let numbers = Tensor::from_f32(tensor.shape.clone(), numbers.collect());
        (name.clone(), numbers.expect("the number of elements matches the shape"))
    };
    inputs.iter().zip(ranges).map(tensor).collect()
}

/// 32-bit float at a share of a range, from 0 (lowest) to 1 (highest).
fn within(&(low, high): &(f64, f64), share: f64) -> f32 {
    let number = (low + share * (high - low)) as f32;
    let is_in = |number: &f32| (low..=high).contains(&f64::from(*number));
    let near = [number, number.next_down(), number.next_up()];
    near.into_iter().find(is_in).expect("a box about a float of 32 bits has one near each of its numbers")
}

/// Input of a box: first its corners, then random ones.
fn drawn(ranges: &RangeTensor, trial: usize, random: &mut Random) -> Tensor {
    let number = |range: &(f64, f64)| {
        let share = match trial {
            0 => 0.0,
            1 => 1.0,
            2 => f64::from(u8::from(random.bits().is_multiple_of(2))),
            _ => f64::from(random.number()).midpoint(1.0),
        };
        within(range, share)
    };
    let numbers = ranges.ranges.iter().map(number).collect();
    Tensor::from_f32(ranges.shape.clone(), numbers).expect("the number of elements matches the shape")
}

fn numbers<'a>(
    bounded: &'a BoundedTensor,
    found: &Output,
) -> impl Iterator<Item = (&'a Bounded, f64)> + use<'a> {
    assert_eq!(bounded.name, found.name);
    bounded.elements.iter().zip(found.values.reals())
}

fn is_within(what: &str, bounded: &BoundedTensor, found: &Output, expected: &Tensor) {
    // Small results may be sums of larger numbers.
    let float = FLOATS * expected.reals().iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
    for ((element, found), expected) in numbers(bounded, found).zip(expected.reals()) {
        let (low, high) = element.exact().into_inner();
        let error = (found - expected).abs();
        assert!(error <= element.error() + float, "{what}: {error} is above {}", element.error());
        assert!(
            (low - float..=high + float).contains(&expected),
            "{what}: {expected} is not in {low}..={high}"
        );
        assert!(element.machine().contains(&found), "{what}: {found} is not in {:?}", element.machine());
    }
}

fn is_known(what: &str, bounded: &BoundedTensor, found: &Output) {
    for (element, found) in numbers(bounded, found) {
        assert_eq!(element.machine(), found..=found, "{what}");
    }
}
