//! [`Opened`]: both sides, and the tensors that they have in common.

use std::collections::{BTreeMap, HashSet};

use npukit_numeric::TensorData;
use npukit_target::Writer;

use super::Request;
use super::sides::{self, OpenedSide};
use crate::Context;
use crate::compare::traced::machine::{Instructions, Layers, Machine};
use crate::compare::traced::open::Named;
use crate::compare::traced::stored::named;
use crate::compare::traced::{Line, SampleTensor, TensorKind, TensorSource, Values};
use crate::error::Error;

/// Tensor that both sides have.
pub(super) struct Pair {
    /// Description by the side that knows more.
    pub line: Line,
    /// Name of the tensor on each side.
    pub names: [String; 2],
    /// Whether the machine's integers are compared.
    pub is_in_integers: bool,
    /// For an input: largest difference between the sides by rounding, if the number format has a
    /// fixed step.
    pub limit: Option<f64>,
    /// Factor from the integers of a side with stored integers to real values.
    scale: Option<f64>,
}

/// Both sides.
pub(super) struct Opened {
    pub sides: [OpenedSide; 2],
    pub pairs: Vec<Pair>,
    /// Tensors of each side that the other one lacks.
    pub only: [Vec<String>; 2],
    pub samples: usize,
    pub notes: Vec<String>,
    pub instructions: BTreeMap<String, Instructions>,
}

/// Maximum number of names in a message.
const TOLD: usize = 8;

impl Opened {
    /// # Errors
    ///
    /// Fails as [`diff_values`](super::diff_values) does.
    pub fn new(request: &Request, context: Context<'_>) -> Result<Self, Error> {
        let parsed = [&request.before, &request.after].map(|text| {
            let reason = "it is neither a report nor a source of values".to_owned();
            Named::parse(text).ok_or_else(|| Error::NotComparable { given: text.clone(), reason })
        });
        let [before, after] = parsed;
        let (sides, mut notes) = sides::open(request, &[before?, after?], context)?;
        notes.dedup();
        let samples = samples(&sides)?;
        let instructions = instructions(&sides);
        let (pairs, only) = aligned(&sides);
        let mut opened = Self { sides, pairs, only, samples, notes, instructions };
        if opened.pairs.is_empty() {
            return Err(opened.nothing_in_common());
        }
        opened.scale_integers()?;
        opened.limit_inputs();
        Ok(opened)
    }

    /// Returns the program of a side, if it has one.
    pub fn machine(&self, place: usize) -> Option<&Machine> {
        match &self.sides[place].side {
            TensorSource::Machine(machine) => Some(machine),
            TensorSource::Float(_) | TensorSource::Stored(_) => None,
        }
    }

    /// Returns the layers of a side, if they are known.
    pub fn layers(&self, place: usize) -> Option<&Layers> {
        self.machine(place)?.layers.as_ref()
    }

    fn is_stored(&self, place: usize) -> bool {
        matches!(self.sides[place].side, TensorSource::Stored(_))
    }

    /// Whether any difference is an error, because stored values must equal the other side.
    pub fn is_exact(&self) -> bool {
        self.is_stored(0) || self.is_stored(1)
    }

    /// Whether both sides belong to the same model, as far as is known.
    pub fn is_of_one_model(&self) -> bool {
        match [&self.sides[0].model, &self.sides[1].model] {
            [Some(before), Some(after)] => before == after,
            _ => true,
        }
    }

    /// Returns the elements of a pair for a sample.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OtherTensors`] if the sides have different numbers of elements.
    pub fn reals(&self, pair: &Pair, values: &[Values; 2], index: usize) -> Result<[Vec<f64>; 2], Error> {
        let of = |place: usize| {
            let found = match &self.sides[place].side {
                TensorSource::Stored(stored) => stored.get(&pair.names[place]),
                TensorSource::Float(_) | TensorSource::Machine(_) => {
                    values[place].shown.get(&pair.names[place])
                }
            };
            let missing = || self.other(format!("`{}` has no values", pair.names[place]));
            Ok::<_, Error>(self.reals_of(pair, place, found.ok_or_else(missing)?))
        };
        let [before, after] = [of(0)?, of(1)?];
        let sizes = [before.len(), after.len()];
        let parts = [self.cut(0, before, index), self.cut(1, after, index)];
        if parts[0].len() != parts[1].len() {
            return Err(self.misfit(pair, sizes));
        }
        Ok(parts)
    }

    /// Returns all elements of a pair on a side.
    fn reals_of(&self, pair: &Pair, place: usize, held: &SampleTensor) -> Vec<f64> {
        match (self.is_stored(place), pair.scale) {
            (false, _) if pair.is_in_integers => held.raw.iter().map(|&raw| raw.into()).collect(),
            (true, Some(factor)) if !held.tensor.element().is_float() => {
                held.tensor.reals().into_iter().map(|value| value * factor).collect()
            }
            _ => held.tensor.reals(),
        }
    }

    /// Returns one sample of values stored for all samples; all values if the sizes do not match.
    fn cut(&self, place: usize, reals: Vec<f64>, index: usize) -> Vec<f64> {
        let whole = reals.len().checked_div(self.samples).filter(|each| each * self.samples == reals.len());
        match whole.filter(|_| self.is_stored(place)) {
            Some(each) => reals[index * each..(index + 1) * each].to_vec(),
            None => reals,
        }
    }

    fn misfit(&self, pair: &Pair, [before, after]: [usize; 2]) -> Error {
        let Line { name, shape, .. } = &pair.line;
        let sides = [(0, before), (1, after)].map(|(place, size)| match self.is_stored(place) {
            true => format!("{size} elements"),
            false => format!("{size} for each of {} samples", self.samples),
        });
        let [before, after] = sides;
        self.other(format!(
            "`{name}` of shape {shape:?} has {before} on the first side, but {after} on the second"
        ))
    }

    fn other(&self, reason: String) -> Error {
        let [before, after] = self.sides.each_ref().map(|side| side.report.name.clone());
        Error::OtherTensors { before, after, reason }
    }

    fn nothing_in_common(&self) -> Error {
        let list = |side: &OpenedSide| {
            let lines = side.side.lines();
            let names = lines.iter().take(TOLD).map(|line| format!("`{}`", line.name)).collect::<Vec<_>>();
            format!("{}{}", names.join(", "), if lines.len() > TOLD { ", .." } else { "" })
        };
        self.other(format!(
            "the first side has {}, the second has {}",
            list(&self.sides[0]),
            list(&self.sides[1])
        ))
    }

    /// Determines how stored integers map to real values, from the first sample of the other side.
    fn scale_integers(&mut self) -> Result<(), Error> {
        let Self { sides, pairs, notes, samples, .. } = self;
        for place in [0, 1] {
            let (TensorSource::Stored(stored), TensorSource::Machine(_)) =
                (&sides[place].side, &sides[1 - place].side)
            else {
                continue;
            };
            let is_whole =
                |name: &str| stored.get(name).is_some_and(|held| !held.tensor.element().is_float());
            let mut whole: Vec<&mut Pair> =
                pairs.iter_mut().filter(|pair| is_whole(&pair.names[place])).collect();
            if whole.is_empty() || *samples == 0 {
                continue;
            }
            let values = sides[1 - place].side.values(0, &HashSet::new())?;
            for pair in &mut whole {
                let held = values.shown.get(&pair.names[1 - place]);
                let Some(held) = held.filter(|held| !held.raw.is_empty()) else { continue };
                pair.scale = scale(held);
                if pair.scale.is_none() && held.tensor.element().is_float() {
                    pair.is_in_integers = true;
                    notes.push(format!("`{}` is compared in the machine's integers", pair.line.name));
                }
            }
        }
        Ok(())
    }

    /// Determines the largest difference of inputs by rounding: half a step for each side that
    /// rounds. Stored inputs round as their program does.
    fn limit_inputs(&mut self) {
        let step = |place: usize| self.machine(place).and_then(Machine::step);
        let of = |place: usize| match &self.sides[place].side {
            TensorSource::Float(_) => Some(0.0),
            TensorSource::Machine(_) => step(place),
            TensorSource::Stored(_) => step(1 - place),
        };
        let limit = of(0).zip(of(1)).map(|(before, after)| (before + after) / 2.0);
        let inputs = self.pairs.iter_mut().filter(|pair| pair.line.kind == TensorKind::Input);
        inputs.for_each(|pair| pair.limit = limit.filter(|limit| *limit > 0.0 && !pair.is_in_integers));
    }

    /// Returns the last instruction that writes an element of a pair: on the second side if known,
    /// otherwise on the first.
    pub fn writer(&self, pair: &Pair, element: usize) -> Option<Writer> {
        [1, 0].into_iter().find_map(|place| self.machine(place)?.writer(&pair.names[place], element))
    }
}

impl Pair {
    /// Combines a line of the leading side with the other side's information about the tensor.
    fn new(line: &Line, other: &Line, names: [String; 2]) -> Self {
        let mut line = line.clone();
        line.layer = line.layer.or_else(|| other.layer.clone());
        line.axes = line.axes.or_else(|| other.axes.clone().filter(|_| other.shape == line.shape));
        Self { line, names, is_in_integers: false, limit: None, scale: None }
    }
}

/// Returns the tensors that both sides have, and the names of tensors that only one has.
fn aligned(sides: &[OpenedSide; 2]) -> (Vec<Pair>, [Vec<String>; 2]) {
    // A side that knows layers determines the order, preferably the second one; next a side that is
    // computed.
    let rank = |side: &OpenedSide| match &side.side {
        TensorSource::Machine(machine) => 2 + usize::from(machine.layers.is_some()),
        TensorSource::Float(_) => 1,
        TensorSource::Stored(_) => 0,
    };
    let leading = usize::from(rank(&sides[1]) >= rank(&sides[0]));
    let (ours, theirs) = (sides[leading].side.lines(), sides[1 - leading].side.lines());
    fn names(lines: &[Line]) -> impl Iterator<Item = &str> + Clone {
        lines.iter().map(|line| line.name.as_str())
    }
    let (mut pairs, mut only): (Vec<Pair>, [Vec<String>; 2]) = Default::default();
    for line in ours {
        let is_ours = |other: &&str| named(other, names(ours)) == Some(line.name.as_str());
        // Either side may have the model's name, and the other its form in archives.
        let found = named(&line.name, names(theirs)).or_else(|| names(theirs).find(is_ours));
        let found = found.and_then(|name| theirs.iter().find(|other| other.name == name));
        let Some(other) = found else {
            only[leading].push(line.name.clone());
            continue;
        };
        let mut both = [line.name.clone(), line.name.clone()];
        both[1 - leading] = other.name.clone();
        pairs.push(Pair::new(line, other, both));
    }
    let is_paired = |line: &&Line| pairs.iter().any(|pair| pair.names[1 - leading] == line.name);
    only[1 - leading] = theirs.iter().filter(|line| !is_paired(line)).map(|line| line.name.clone()).collect();
    (pairs, only)
}

/// Returns the factor from every integer to its real value; `None` if it is not the same for all.
fn scale(held: &SampleTensor) -> Option<f64> {
    if !matches!(held.tensor.data(), TensorData::F32(_)) {
        return None;
    }
    let reals = held.tensor.reals();
    let both = || reals.iter().zip(&held.raw);
    let factor = both().find(|(_, raw)| **raw != 0).map(|(real, &raw)| real / f64::from(raw))?;
    both().all(|(real, &raw)| f64::from(raw) * factor == *real).then_some(factor)
}

/// Returns the number of samples of computed sides; two stored sides are one sample.
fn samples(sides: &[OpenedSide; 2]) -> Result<usize, Error> {
    match sides.each_ref().map(|side| side.side.samples()) {
        [Some(before), Some(after)] if before != after => Err(Error::OtherTensors {
            before: sides[0].report.name.clone(),
            after: sides[1].report.name.clone(),
            reason: format!(
                "the inputs have {before} samples for the first side, but {after} for the second"
            ),
        }),
        [before, after] => Ok(before.or(after).unwrap_or(1)), // Default: all stored values.
    }
}

/// Returns the instructions of each layer, from a side that knows them, preferably the second one.
fn instructions(sides: &[OpenedSide; 2]) -> BTreeMap<String, Instructions> {
    let of = |side: &OpenedSide| match &side.side {
        TensorSource::Machine(machine) => Some(machine.instructions()),
        TensorSource::Float(_) | TensorSource::Stored(_) => None,
    };
    // Default: empty if no side has instructions.
    sides.iter().rev().find_map(of).unwrap_or_default()
}
