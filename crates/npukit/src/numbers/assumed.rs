//! [`AssumedRanges`]: ranges of a model's inputs if no typical inputs are given.
//!
//! The caller may declare a range ([`GivenRange`]). Otherwise it comes from the element type, or
//! from the first operators: an image divided by 255, values standardized by a mean and a
//! deviation. Generated inputs then span that range.

mod normalization;

use std::collections::BTreeMap;

use npukit_graph::{Graph, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::to_element;

use self::normalization::Readers;
use crate::error::Error;
use crate::inputs::Sample;
use crate::inputs::made_up;

/// Declared range of an input's elements.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenRange {
    /// Name of the input; every input of real numbers if `None`.
    pub input: Option<String>,
    /// Smallest and largest element.
    pub range: [f64; 2],
}

/// Range of pixel values.
const IMAGE: [f64; 2] = [0.0, 255.0];

impl GivenRange {
    /// Parses a range: `[NAME=]LOW..HIGH`, `[NAME=]LOW,HIGH` or `[NAME=]image`, which is 0 to 255.
    /// Returns `None` for other text, for bounds that are not finite, and for an empty range.
    pub fn parse(text: &str) -> Option<Self> {
        let (input, bounds) = match text.rsplit_once('=') {
            Some((name, bounds)) => (Some(name.to_owned()), bounds),
            None => (None, text),
        };
        let bound = |text: &str| text.trim().parse().ok().filter(|bound: &f64| bound.is_finite());
        let range = match bounds.split_once("..").or_else(|| bounds.split_once(',')) {
            None if bounds == "image" => IMAGE,
            None => return None,
            Some((low, high)) => [bound(low)?, bound(high)?],
        };
        (range[0] <= range[1]).then_some(Self { input, range })
    }

    /// Returns the range that `declared` gives the input `name`, if any. A later declaration
    /// replaces an earlier one, and a named one replaces a general one.
    pub(crate) fn find(declared: &[Self], name: &str) -> Option<[f64; 2]> {
        let named = declared.iter().rev().find(|range| range.input.as_deref() == Some(name));
        let found = named.or_else(|| declared.iter().rev().find(|range| range.input.is_none()));
        found.map(|found| found.range)
    }
}

/// Range of an input, and the reason for it.
#[derive(Clone, Debug, PartialEq)]
struct Assumed {
    range: [f64; 2],
    reason: &'static str,
}

/// Ranges of a model's inputs, by name. Inputs without one are not listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AssumedRanges(BTreeMap<String, Assumed>);

impl AssumedRanges {
    /// Ranges of the inputs of `graph`, the model as imported.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownName`] for a declared range of an input that the model does not have.
    pub fn of(graph: &Graph, given: &[GivenRange]) -> Result<Self, Error> {
        let names = || graph.inputs.iter().map(|&id| graph.value(id).name.clone());
        for name in given.iter().filter_map(|range| range.input.as_ref()) {
            if !names().any(|known| known == *name) {
                let known = names().collect();
                return Err(Error::UnknownName { what: "input", name: name.clone(), known });
            }
        }
        let readers = Readers::of(graph);
        let assumed = |&id: &ValueId| {
            let value = graph.value(id);
            Some((value.name.clone(), assumed(graph, &readers, id, given)?))
        };
        Ok(Self(graph.inputs.iter().filter_map(assumed).collect()))
    }

    /// Returns the range of the input `name`, if known.
    pub fn range(&self, name: &str) -> Option<[f64; 2]> {
        self.0.get(name).map(|assumed| assumed.range)
    }

    /// Describes the ranges, such as "input `x` from 0 to 255 (its values are divided by 255)";
    /// `None` without ranges.
    pub fn described(&self) -> Option<String> {
        let one = |(name, Assumed { range: [low, high], reason }): (&String, &Assumed)| {
            format!("`{name}` from {} to {} ({reason})", rounded(*low), rounded(*high))
        };
        let all: Vec<String> = self.0.iter().map(one).collect();
        (!all.is_empty()).then(|| format!("input {}", all.join(", ")))
    }

    /// Returns the ranges as bounds of the inputs of `graph`.
    pub fn of_graph(&self, graph: &Graph) -> Vec<(ValueId, [f32; 2])> {
        let one = |&id: &ValueId| {
            let [low, high] = self.0.get(&graph.value(id).name)?.range;
            Some((id, [low as f32, high as f32]))
        };
        graph.inputs.iter().filter_map(one).collect()
    }

    /// Generates inputs of `graph` with these ranges, and with the usual range for other inputs;
    /// identical on every computer.
    pub fn made_up(&self, graph: &Graph, seed: u64) -> Sample {
        let one = |&id: &ValueId| {
            let value = graph.value(id);
            let range = self.range(&value.name);
            Some((value.name.clone(), spanning(&value.name, &value.info, range, seed)?))
        };
        graph.inputs.iter().filter_map(one).collect()
    }
}

/// Returns the range of one input.
fn assumed(graph: &Graph, readers: &Readers<'_>, id: ValueId, given: &[GivenRange]) -> Option<Assumed> {
    let value = graph.value(id);
    let declared = GivenRange::find(given, &value.name);
    if let Some(range) = declared.filter(|_| value.info.element != ElementType::Bool) {
        return Some(Assumed { range, reason: "as declared" });
    }
    if value.info.element.is_float() {
        return normalization::range(readers, id);
    }
    // Only integers that become real numbers have a range; others are indices.
    let range = all_of(value.info.element)?;
    graph.becomes_real(id).then_some(Assumed { range, reason: "its element type" })
}

/// Returns the range of an element type with 8-bit integers, for inputs that become real numbers.
pub(crate) fn all_of(element: ElementType) -> Option<[f64; 2]> {
    let (first, last) = element.integer_range().filter(|_| element.bits() == 8)?;
    Some([first as f64, last as f64])
}

/// Generates an input whose elements span `range`, or with the usual values of its type without
/// one; identical on every computer. Returns `None` if it does not fit in memory.
pub(crate) fn spanning(name: &str, info: &ValueInfo, range: Option<[f64; 2]>, seed: u64) -> Option<Tensor> {
    let ValueInfo { shape, element } = info;
    let Some(range) = range else { return made_up::typical(name, shape, *element, seed) };
    let noise = npukit_models::zoo::stand_in(name, shape, seed)?;
    to_element(name, &spread(&noise, range, !element.is_float())?, *element).ok()
}

/// Maps noise in -1 to 1 with deviation 0.3 to a range; a few percent of the elements reach its
/// ends.
pub(crate) fn spread(noise: &Tensor, [low, high]: [f64; 2], whole: bool) -> Option<Tensor> {
    const GAIN: f64 = 1.6;
    let one = |&x: &f32| {
        let share = (f64::from(x) * GAIN).clamp(-1.0, 1.0) / 2.0 + 0.5;
        let value = low + share * (high - low);
        if whole { value.round() as f32 } else { value as f32 }
    };
    Tensor::from_f32(noise.shape().to_vec(), noise.as_f32()?.iter().map(one).collect()).ok()
}

/// Rounds a bound to three digits after the point, for messages.
fn rounded(bound: f64) -> f64 {
    (bound * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use npukit_graph::op::Cast;

    use super::*;

    #[test]
    fn ranges_are_bounds_or_image() {
        let range = |input: Option<&str>, range| Some(GivenRange { input: input.map(str::to_owned), range });
        assert_eq!(GivenRange::parse("0..255"), range(None, [0.0, 255.0]));
        assert_eq!(GivenRange::parse("image"), range(None, [0.0, 255.0]));
        assert_eq!(GivenRange::parse("x=-1.5..1e3"), range(Some("x"), [-1.5, 1000.0]));
        assert_eq!(GivenRange::parse("a=b=image"), range(Some("a=b"), [0.0, 255.0]));
        assert_eq!(GivenRange::parse("0,1"), range(None, [0.0, 1.0]));
        for text in ["", "x", "x=", "1..", "..1", "2..1", "0..inf", "nan..1", "0..1..2"] {
            assert_eq!(GivenRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn made_up_inputs_span_their_range() {
        let info = ValueInfo { shape: vec![1, 32, 32, 3], element: ElementType::U8 };
        let mut graph = Graph::default();
        graph.add_input("x", info);
        let given = GivenRange { input: None, range: [0.0, 255.0] };
        let ranges = AssumedRanges::of(&graph, &[given]).expect("no name is given");
        let samples: Vec<Sample> = (1..=8).map(|seed| ranges.made_up(&graph, seed)).collect();
        let reals: Vec<f64> = samples.iter().flatten().flat_map(|(_, tensor)| tensor.reals()).collect();
        assert_eq!(reals.len(), 8 * 32 * 32 * 3);
        let (low, high) = reals.iter().fold((255.0f64, 0.0f64), |(low, high), &x| (low.min(x), high.max(x)));
        assert!(low < 40.0 && high > 215.0, "{low} {high}");
        assert!(reals.iter().all(|x| x.fract() == 0.0));
    }

    #[test]
    fn integers_span_their_type_if_they_become_real_numbers() {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1, 4], element: ElementType::I8 });
        let range = |graph: &Graph| AssumedRanges::of(graph, &[]).expect("no name is given").range("x");
        assert_eq!(range(&graph), None, "nothing reads it");
        let mut cast = |to, name: &str| {
            graph.add_node(name, Cast::new(to).into(), vec![x], &[name]).expect("integers are cast");
            range(&graph)
        };
        assert_eq!(cast(ElementType::F32, "real"), Some([-128.0, 127.0]));
        assert_eq!(cast(ElementType::I64, "index"), None, "one node reads indices");
    }

    #[test]
    fn a_range_of_an_unknown_input_is_refused() {
        let given = GivenRange { input: Some("z".to_owned()), range: [0.0, 1.0] };
        assert!(matches!(AssumedRanges::of(&Graph::default(), &[given]), Err(Error::UnknownName { .. })));
    }
}
