//! [`doubt`]: why the outputs of a run are not to be relied on, and what to do about it.

use npukit_base::counted;
use npukit_target::Saturations;

use crate::model::origin::Origin;
use crate::report::comparison::Comparison;

/// Signal-to-noise ratio of outputs, in decibels, below which a class or a value may be another one.
const RELIABLE_DB: f64 = 20.0;

/// Why the outputs are not to be relied on, as a sentence with what to do: inputs saturate, or the outputs are too far from
/// float. `None` for a run that shows neither.
pub(crate) fn doubt(origin: &Origin, saturations: &Saturations, found: &Comparison) -> Option<String> {
    // Scales that samples chose may cut off what is rare.
    let is_chosen = origin.quantisation.as_ref().is_some_and(|report| !report.made_up);
    let reason = if saturations.inputs > 0 && !is_chosen {
        let verb = if saturations.inputs == 1 { "is" } else { "are" };
        format!("{} {verb} beyond the machine's numbers", counted(saturations.inputs, "input value"))
    } else {
        let decibels = found.signal_to_noise_db.filter(|decibels| *decibels < RELIABLE_DB)?;
        format!(
            "the signal-to-noise ratio of the outputs is {decibels:.1} dB, and below {RELIABLE_DB} dB they are unreliable"
        )
    };
    Some(format!("{reason}: {}", remedy(origin, saturations)))
}

/// The next thing to try.
fn remedy(origin: &Origin, saturations: &Saturations) -> &'static str {
    if !origin.is_calibrated() {
        return if saturations.inputs > 0 {
            "scale them as the training did (as --scale 1/255), or give typical inputs with --calibrate"
        } else {
            "give typical inputs with --calibrate"
        };
    }
    if origin.instance.info().number_format.is_some_and(|format| format.step().is_some()) {
        "--compare names the layer that loses the most, and a wider data_type that does not"
    } else {
        "--compare names the layer that loses the most"
    }
}
