//! Suggestions that certainly help: each was tried on the given samples.

use npukit_target::{Compiled, Instance};

use super::Run;
use crate::compare::comparison::compare;
use crate::error::Error;
use crate::numbers::rescale::{self, Mode, Trial};
use crate::run::batch::{float, machine};

/// Input that does not fit the number format.
pub(super) struct SaturatedInput {
    pub name: String,
    count: usize,
    values: usize,
    magnitude: f32,
}

/// Returns suggestions, one sentence each; empty if nothing saturates.
pub(super) fn suggestions(run: &Run<'_>) -> Result<Vec<String>, Error> {
    let mut suggestions: Vec<String> =
        saturated_inputs(run).iter().map(|input| scale_input(run, input)).collect();
    if run.saturations.total() > 0 {
        suggestions.extend(rescaling(run)?);
        suggestions.extend(wider_format(run)?);
    }
    Ok(suggestions)
}

/// Returns the inputs of the network that saturate.
pub(super) fn saturated_inputs(run: &Run<'_>) -> Vec<SaturatedInput> {
    let Some(largest) = run.origin.instance.info().number_format.map(|format| format.largest()) else {
        return Vec::new();
    };
    let mut inputs: Vec<SaturatedInput> = Vec::new();
    for (name, tensor) in run.model_samples.iter().flatten() {
        // Default: integers do not saturate.
        let values = tensor.as_f32().unwrap_or_default();
        let largest = largest * f64::from(run.origin.input_exponent(name)).exp2();
        let beyond = values.iter().map(|x| x.abs()).filter(|&x| f64::from(x) > largest);
        let (count, magnitude) = beyond.fold((0, 0f32), |(count, most), x| (count + 1, most.max(x)));
        match inputs.iter_mut().find(|input| input.name == *name) {
            Some(input) => {
                input.count += count;
                input.values += values.len();
                input.magnitude = input.magnitude.max(magnitude);
            }
            None => {
                inputs.push(SaturatedInput { name: name.clone(), count, values: values.len(), magnitude })
            }
        }
    }
    inputs.retain(|input| input.count > 0);
    inputs
}

fn scale_input(run: &Run<'_>, input: &SaturatedInput) -> String {
    let SaturatedInput { name, count, values, magnitude } = input;
    let largest = run.origin.instance.info().number_format.map_or(f64::INFINITY, |format| format.largest());
    let bits = (f64::from(*magnitude) / largest).log2().ceil().max(1.0);
    format!(
        "{count} of {values} values of input `{name}` exceed {largest} (up to {magnitude}): give it divided by {}, \
         and multiply the weights that read it by the same factor",
        bits.exp2()
    )
}

/// Suggests powers of two between layers, if calibrating with the samples shows an improvement.
fn rescaling(run: &Run<'_>) -> Result<Option<String>, Error> {
    if run.origin.rescaling.as_ref().is_some_and(|report| report.applied) || run.saturations.results == 0 {
        return Ok(None);
    }
    let origin = run.origin;
    let trial = Trial {
        instance: &*origin.instance,
        model: &origin.model,
        options: &origin.options,
        samples: run.model_samples,
    };
    let (_, report) = rescale::choose(&trial, run.compiled, Mode::Auto)?;
    let Some(after) = report.after.filter(|_| report.applied) else { return Ok(None) };
    Ok(Some(format!(
        "`--calibrate` with these inputs leaves {} of {} saturated results; RMS error {:.6} instead of \
         {:.6}",
        after.saturations,
        report.before.saturations,
        after.comparison.rms_error,
        report.before.comparison.rms_error,
    )))
}

/// Suggests the narrowest wider format in which nothing saturates.
fn wider_format(run: &Run<'_>) -> Result<Option<String>, Error> {
    let origin = run.origin;
    for wider in origin.instance.wider_formats() {
        // Skips formats for which the model does not compile or run.
        let Ok(compiled) = wider.compile(&origin.model.simplified, &origin.options) else { continue };
        if let Some(text) = without_saturation(run, &*wider, &*compiled)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn without_saturation(
    run: &Run<'_>,
    wider: &dyn Instance,
    compiled: &dyn Compiled,
) -> Result<Option<String>, Error> {
    let (stacks, saturations) = machine(compiled, run.model_samples)?;
    if saturations.total() > 0 {
        return Ok(None);
    }
    let mut reference = float(&run.origin.model.graph, run.model_samples)?;
    reference.sort_by_key(|found| stacks.iter().position(|stack| stack.name == found.name));
    Ok(Some(format!(
        "{} does not saturate; RMS error {:.6} instead of {:.6}",
        wider.info().name.clone(),
        compare(&stacks, &reference).rms_error,
        run.comparison.rms_error,
    )))
}
