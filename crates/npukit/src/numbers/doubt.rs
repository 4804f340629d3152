//! [`doubt`]: reasons why the outputs of a run are unreliable, and what to do about it.

use npukit_base::counted;
use npukit_target::Saturations;

use crate::model::origin::Origin;
use crate::report::comparison::Comparison;

/// Signal-to-noise ratio of outputs, in decibels, below which classes and values may be wrong.
const RELIABLE_DB: f64 = 20.0;

/// Returns a sentence if the outputs are unreliable, with advice: inputs saturate, or the outputs
/// differ too much from float. `None` if neither is the case.
pub(crate) fn doubt(origin: &Origin, saturations: &Saturations, found: &Comparison) -> Option<String> {
    // Scales chosen from samples may cut off rare values.
    let is_chosen = origin.quantisation.as_ref().is_some_and(|report| !report.made_up);
    let reason = if saturations.inputs > 0 && !is_chosen {
        let verb = if saturations.inputs == 1 { "is" } else { "are" };
        format!("{} {verb} outside the machine's range", counted(saturations.inputs, "input value"))
    } else {
        let decibels = found.signal_to_noise_db.filter(|decibels| *decibels < RELIABLE_DB)?;
        format!(
            "the signal-to-noise ratio of the outputs is {decibels:.1} dB; below {RELIABLE_DB} dB they are unreliable"
        )
    };
    Some(format!("{reason}: {}", remedy(origin, saturations)))
}

/// Returns advice on what to try next.
fn remedy(origin: &Origin, saturations: &Saturations) -> &'static str {
    if !origin.is_calibrated() {
        return if saturations.inputs > 0 {
            "scale them as in training (such as --scale 1/255), or give typical inputs with --calibrate"
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
