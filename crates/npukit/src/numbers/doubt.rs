//! [`doubt`]: reasons why the outputs of a run are unreliable, and what to do about it.

use npukit_base::counted;
use npukit_target::{Compiled, Saturations};

use crate::inputs::Sample;
use crate::model::compile_job::CompileJob;
use crate::report::comparison::Comparison;

/// Signal-to-noise ratio of outputs, in decibels, below which classes and values may be wrong.
const RELIABLE_DB: f64 = 20.0;

/// Question about pixel values.
const PIXELS: &str = "all inputs are whole numbers from 0 to 255; did the training divide them by 255? Then add `--scale 1/255`";

/// Values up to this are not taken for pixels: labels and masks are whole numbers too.
const SMALL: f32 = 16.0;

/// Returns a sentence if the outputs are unreliable, with advice: inputs saturate, or the outputs
/// differ too much from float. `None` if neither is the case.
pub(crate) fn doubt(
    origin: &CompileJob,
    saturations: &Saturations,
    found: &Comparison,
    samples: &[Sample],
) -> Option<String> {
    // Scales chosen from samples may cut off rare values.
    let is_chosen = origin.quantization.as_ref().is_some_and(|report| !report.made_up);
    let reason = if saturations.inputs > 0 && !is_chosen {
        let verb = if saturations.inputs == 1 { "is" } else { "are" };
        format!("{} {verb} outside the machine's range", counted(saturations.inputs, "input value"))
    } else {
        let decibels = found.signal_to_noise_db.filter(|decibels| *decibels < RELIABLE_DB)?;
        format!(
            "the signal-to-noise ratio of the outputs is {decibels:.1} dB; below {RELIABLE_DB} dB they are unreliable"
        )
    };
    if saturations.total() > 0 && are_pixels(samples) {
        return Some(format!("{reason}: {PIXELS}"));
    }
    Some(format!("{reason}: {}", remedy(origin, saturations)))
}

/// Returns a warning if values of an artifact saturate, with advice. `None` for a few saturated
/// values of a quantized program: scales chosen from samples may cut off rare values.
pub(crate) fn of_artifact(
    compiled: &dyn Compiled,
    saturations: &Saturations,
    samples: &[Sample],
) -> Option<String> {
    const RARE: u64 = 100;
    let all = saturations.total();
    let is_chosen = || compiled.words().is_ok_and(|words| words.instance.info().quantization.is_some());
    let inputs: usize = samples.iter().flatten().map(|(_, tensor)| tensor.data().len()).sum();
    if all == 0 || is_chosen() && saturations.inputs <= inputs as u64 / RARE {
        return None;
    }
    let reason = format!(
        "{} of the artifact {} not fit its numbers, so outputs may be wrong",
        counted(all, "value"),
        if all == 1 { "does" } else { "do" }
    );
    Some(match are_pixels(samples) {
        true => format!("{reason}: {PIXELS}"),
        false => format!(
            "{reason}: scale the inputs as in training (such as `--scale 1/255`), or compile the model with typical \
             inputs, given with --calibrate"
        ),
    })
}

/// Returns a question if inputs are pixel values whose results only fit after scaling by powers of
/// two, which saves the numbers but not the meaning.
pub(crate) fn unscaled(origin: &CompileJob, samples: &[Sample]) -> Option<String> {
    let rescaling = origin.rescaling.as_ref()?;
    (rescaling.before.saturations > 0 && are_pixels(samples)).then(|| PIXELS.to_owned())
}

/// Whether all inputs are pixel values that nothing has scaled.
fn are_pixels(samples: &[Sample]) -> bool {
    let mut largest = 0.0;
    let values = || samples.iter().flatten().filter_map(|(_, tensor)| tensor.as_f32()).flatten();
    let is_whole = |value: &f32| value.fract() == 0.0 && (0.0..=255.0).contains(value);
    for value in values() {
        if !is_whole(value) {
            return false;
        }
        largest = value.max(largest);
    }
    largest > SMALL
}

/// Returns advice on what to try next.
fn remedy(origin: &CompileJob, saturations: &Saturations) -> &'static str {
    if !origin.is_calibrated() {
        return if saturations.inputs > 0 {
            "scale them as in training (such as `--scale 1/255`), or give typical inputs with --calibrate"
        } else {
            "give typical inputs with --calibrate"
        };
    }
    if origin.instance.info().number_format.is_some_and(|format| format.step().is_some()) {
        "--compare names the layer with the largest error, and a wider data_type without it"
    } else {
        "--compare names the layer with the largest error"
    }
}
