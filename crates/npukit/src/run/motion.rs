//! [`drawn`]: a step of a program in motion, as SVG.

use npukit_report::figure;
use npukit_target::Machine;

use super::memory_files::MotionRequest;
use crate::error::Error;

/// Runs a copy of a machine to the requested step and draws the values inside its unit.
///
/// # Errors
///
/// Returns [`Error::NoMotion`] for a step without a drawing, or a program without such a step, and
/// [`Error::Target`] if the machine stops before it or the unit is too large.
pub(crate) fn drawn(machine: &dyn Machine, request: &MotionRequest) -> Result<String, Error> {
    let mut machine = machine.fork();
    let steps = machine.steps();
    let last = request.step.unwrap_or(steps); // Default: all steps are searched.
    while machine.position() < steps && machine.position() <= last {
        if request.step.is_none_or(|step| step == machine.position())
            && let Some(motion) = machine.motion()?
            && let Some(svg) = figure::motion(&motion, &title(&*machine))
        {
            return Ok(svg);
        }
        machine.step()?;
    }
    Err(Error::NoMotion { step: request.step, steps, target: machine.target().to_owned() })
}

/// Returns the text of the next step and the target.
fn title(machine: &dyn Machine) -> String {
    // Default: a program without a listing has no texts.
    let listing = machine.listing().unwrap_or_default();
    let issued = machine.issued(machine.position());
    let texts: Vec<&str> =
        issued.into_iter().filter_map(|index| listing.get(index)).map(|line| line.text.trim()).collect();
    format!("{}: {}", machine.target(), texts.join(" | "))
}
