//! `npu trace`: writes every tensor of a run as arrays by name, of a model in float or of a program
//! on the machine.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::time::Instant;

use npukit_numeric::Tensor;
use npukit_numeric::npy::{NpzWriter, member_names};
use npukit_target::Phase;
use rayon::prelude::*;
use serde::Serialize;

use crate::Context;
use crate::compare::traced::float::Float;
use crate::compare::traced::{Given, Line, TensorKind, TensorSource, open};
use crate::error::Error;
use crate::inputs::{InputFile, Preprocess};
use crate::model::Model;
use crate::model::source::Source;
use crate::run::samples::DumpedTensor;

/// Parameters of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Model or artifact; a model without a target is evaluated in float.
    pub source: Source,
    /// Model that an artifact was compiled from, which provides the results of its layers.
    pub model: Option<String>,
    /// Inputs of the program.
    pub inputs: Vec<InputFile>,
    /// Preprocessing of the inputs.
    pub preprocess: Preprocess,
    /// Whether to evaluate a model that takes far more time or memory than its size suggests.
    pub unlimited: bool,
}

/// Report of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Path of the model or artifact.
    pub source: String,
    /// Target and instance; `None` in float.
    pub target: Option<String>,
    /// Number of samples, the size of the arrays' first axis.
    pub samples: usize,
    /// Arrays, in the order of layers.
    pub tensors: Vec<TracedTensor>,
    /// Number of times that all samples were computed, so that the values held at once fit in 256
    /// MiB.
    pub passes: usize,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// Array of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TracedTensor {
    /// Name in the model.
    pub name: String,
    /// Name in the `.npz` file, if it differs: names must not leave the folder in which the archive
    /// is unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Shape of all samples, joined along the first axis.
    pub shape: Vec<usize>,
    /// Layer of the program that computes it, if any.
    pub layer: Option<String>,
    /// Role in the network.
    pub kind: TensorKind,
}

/// The tensor in a report of `npu run`, without its layer and role.
impl From<TracedTensor> for DumpedTensor {
    fn from(TracedTensor { name, member, shape, .. }: TracedTensor) -> Self {
        Self { name, member, shape }
    }
}

/// Maximum size in bytes of values held at once, apart from a single sample on each core.
const HELD: usize = 256 << 20;

/// Writes an `.npz` file of every tensor to `out`, as real values in the model's scale.
///
/// # Errors
///
/// Fails as [`run`](super::run::run) does for a program, and as [`eval`](super::eval::eval) does
/// for a model in float. Returns [`Error::OtherModel`] if the artifact was not compiled from the
/// model, and [`Error::Write`] if writing to `out` fails.
pub fn trace(request: &Request, out: &mut dyn Write, context: Context<'_>) -> Result<Report, Error> {
    let start = Instant::now();
    let (side, notes) = opened(request, context)?;
    let Written { samples, tensors, passes } = write(&side, out)?;
    Ok(Report {
        source: request.source.path.clone(),
        target: match &side {
            TensorSource::Machine(machine) => Some(machine.compiled().report().target),
            TensorSource::Float(_) | TensorSource::Stored(_) => None,
        },
        samples,
        tensors,
        passes,
        notes,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Like [`trace`], for a model in float that was already read; returns the list of tensors.
pub(crate) fn trace_model(
    model: &Model,
    given: Given<'_>,
    out: &mut dyn Write,
    context: Context<'_>,
) -> Result<Vec<TracedTensor>, Error> {
    let (float, _) = Float::of_model(model, given, context)?;
    write(&TensorSource::Float(Box::new(float)), out).map(|written| written.tensors)
}

/// Tensors of a written archive.
struct Written {
    samples: usize,
    tensors: Vec<TracedTensor>,
    passes: usize,
}

/// Writes every tensor of a side.
fn write(side: &TensorSource, out: &mut dyn Write) -> Result<Written, Error> {
    // Default: stored arrays have no samples.
    let samples = side.samples().unwrap_or_default();
    let members = member_names(side.lines().iter().map(|line| line.name.as_str()));
    let mut archive = NpzWriter::new(out);
    let groups = groups(side.lines(), samples);
    let phase = Phase::counting("trace", samples.saturating_mul(groups.len()));
    let mut first = 0;
    for group in &groups {
        let lines = &side.lines()[first..first + group];
        write_group(side, lines, &members[first..first + group], samples, &phase, &mut archive)?;
        first += group;
    }
    archive.finish().map_err(Error::Write)?;
    let tensor = |(line, member): (&Line, String)| TracedTensor {
        name: line.name.clone(),
        member: Some(member).filter(|member| *member != line.name),
        shape: over_samples(&line.shape, samples),
        layer: line.layer.clone(),
        kind: line.kind,
    };
    let tensors = side.lines().iter().zip(members).map(tensor).collect();
    Ok(Written { samples, tensors, passes: groups.len() })
}

/// Opens the source of the values.
fn opened(request: &Request, context: Context<'_>) -> Result<(TensorSource, Vec<String>), Error> {
    let given = Given { inputs: &request.inputs, preprocess: &request.preprocess };
    let source = &request.source;
    let is_artifact = source.is_artifact();
    let machine = match &request.model {
        Some(_) if !is_artifact => return Err(Error::NeedlessModel { path: source.path.clone() }),
        Some(_) if source.target.is_some() => {
            return Err(Error::NeedlessTarget { path: source.path.clone() });
        }
        Some(model) => {
            let of_model = Source { path: model.clone(), ..source.clone() };
            open::artifact(&source.path, &of_model, given, context)?
        }
        None if is_artifact || source.target.is_some() => open::machine(source, given, context)?,
        None if !source.options.is_empty() || !source.calibration.is_default() => {
            return Err(Error::NoTarget);
        }
        None => return open::float(source, given, request.unlimited, context),
    };
    let (machine, notes) = machine;
    Ok((TensorSource::Machine(machine), notes))
}

/// Returns the sizes of groups of consecutive tensors that are held at once: as many as fit in
/// memory, or one.
fn groups(lines: &[Line], samples: usize) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    let mut left = 0;
    for line in lines {
        let bytes = line.bytes().saturating_mul(samples);
        match groups.last_mut() {
            Some(last) if bytes <= left => {
                *last += 1;
                left -= bytes;
            }
            _ => {
                groups.push(1);
                left = HELD.saturating_sub(bytes);
            }
        }
    }
    groups
}

/// Computes all samples and writes these tensors. A single tensor is written sample by sample.
fn write_group(
    side: &TensorSource,
    lines: &[Line],
    members: &[String],
    samples: usize,
    phase: &Phase,
    archive: &mut NpzWriter<&mut dyn Write>,
) -> Result<(), Error> {
    let wanted: HashSet<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    let one = |index: usize| {
        let mut values = side.values(index, &wanted)?.shown;
        phase.advance();
        let take = |line: &Line| {
            let missing = || not_written(&line.name, "it has no values".to_owned());
            values.remove(&line.name).map(|held| held.tensor).ok_or_else(missing)
        };
        lines.iter().map(take).collect::<Result<Vec<Tensor>, Error>>()
    };
    let (mut held, mut has_begun) = (BTreeMap::<usize, Vec<Tensor>>::new(), false);
    for chunk in (0..samples).collect::<Vec<_>>().chunks(rayon::current_num_threads().max(1)) {
        let computed = chunk.par_iter().map(|&index| one(index)).collect::<Result<Vec<_>, Error>>()?;
        for tensors in computed {
            if let ([line], [member], [tensor]) = (lines, members, &tensors[..]) {
                if !has_begun {
                    begin(archive, member, line, tensor, samples)?;
                    has_begun = true;
                }
                append(archive, line, tensor)?;
                continue;
            }
            for (place, tensor) in tensors.into_iter().enumerate() {
                held.entry(place).or_default().push(tensor);
            }
        }
    }
    for ((line, member), tensors) in lines.iter().zip(members).zip(held.into_values()) {
        if let Some(first) = tensors.first() {
            begin(archive, member, line, first, samples)?;
        }
        tensors.iter().try_for_each(|tensor| append(archive, line, tensor))?;
    }
    Ok(())
}

fn begin(
    archive: &mut NpzWriter<&mut dyn Write>,
    member: &str,
    line: &Line,
    first: &Tensor,
    samples: usize,
) -> Result<(), Error> {
    if first.shape() != line.shape {
        return Err(not_written(
            &line.name,
            format!("it has shape {:?} instead of {:?}", first.shape(), line.shape),
        ));
    }
    archive.begin(member, &over_samples(&line.shape, samples), first.element()).map_err(Error::Write)
}

fn append(archive: &mut NpzWriter<&mut dyn Write>, line: &Line, tensor: &Tensor) -> Result<(), Error> {
    if tensor.shape() != line.shape {
        return Err(not_written(
            &line.name,
            format!("it has shape {:?} instead of {:?}", tensor.shape(), line.shape),
        ));
    }
    archive.append(tensor).map_err(Error::Write)
}

fn not_written(name: &str, reason: String) -> Error {
    Error::Output { name: name.to_owned(), reason }
}

/// Returns the shape of samples joined along the first axis.
fn over_samples(shape: &[usize], samples: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    match shape.first_mut() {
        _ if samples == 1 => {}
        Some(first) => *first = first.saturating_mul(samples),
        None => shape.push(samples),
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(elements: usize) -> Line {
        let shape = vec![elements];
        Line { name: elements.to_string(), shape, axes: None, layer: None, kind: TensorKind::Value }
    }

    #[test]
    fn tensors_are_held_as_far_as_they_fit() {
        let quarter = HELD / 32;
        let lines = [quarter, quarter, quarter * 3, quarter * 9, 1, quarter * 4].map(line);
        assert_eq!(groups(&lines, 1), [2, 1, 1, 1, 1]);
        assert_eq!(groups(&lines[..2], 4), [1, 1]);
        assert_eq!(groups(&[], 4), [] as [usize; 0]);
    }

    #[test]
    fn samples_follow_each_other_along_the_first_axis() {
        assert_eq!((over_samples(&[1, 3], 5), over_samples(&[], 2)), (vec![5, 3], vec![2]));
        assert_eq!(over_samples(&[], 1), [] as [usize; 0]);
    }
}
