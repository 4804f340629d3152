//! STFT: frames of a signal, multiplied by a window and Fourier-transformed.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Dft, Gather};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let signal = context.input(0, "signal")?;
    let step = positive(context, 1, "frame_step")?.ok_or(Reason::OperandMissing { operand: "frame_step" })?;
    let window = context.optional(2);
    let stated = positive(context, 3, "frame_length")?;
    let onesided = context.attributes.flag("onesided", true)?;
    let shape = context.shape(signal).to_vec();
    let &[_, samples, _] = &shape[..] else {
        let (found, legal) = (format!("{shape:?}"), "[batch, samples, 1 or 2]".to_owned());
        return Err(Reason::OperandValue { operand: "signal", found, legal });
    };
    let of_window = window.map(|window| context.shape(window).to_vec());
    let length = match (stated, of_window.as_deref()) {
        (Some(length), None) => length,
        (None, Some(&[length])) => length,
        (Some(length), Some(&[own])) if own == length => length,
        (stated, window) => {
            return Err(unsupported(
                "frame_length",
                (stated, window),
                "a number, that of the window's elements",
            ));
        }
    };
    if length == 0 || length > samples {
        return Err(unsupported("frame_length", length, format!("1 to {samples}, the signal's")));
    }
    let frames = (samples - length) / step + 1;
    context.reserve(&[frames, length])?;
    let positions =
        (0..frames).flat_map(|frame| (0..length).map(move |i| (frame * step + i) as i64)).collect();
    let positions = context.indices(vec![frames, length], positions)?;
    let mut y = context.helper("frames", Gather { axis: 1 }, vec![signal, positions])?;
    if let Some(window) = window {
        let window = context.reshape(window, vec![length, 1])?;
        y = context.binary(BinaryKind::Mul, y, window)?;
    }
    Ok(vec![context.emit(Dft { axis: 2, length, inverse: false, onesided }, vec![y])?])
}

/// Returns a constant operand of one number that is at least 1, or `None` if it is absent.
fn positive(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<Option<usize>, Reason> {
    match context.integers(index, operand)?.as_deref() {
        None => Ok(None),
        Some(&[number]) if (1..=1 << 28).contains(&number) => Ok(Some(number as usize)),
        Some(other) => Err(unsupported(operand, other, "one integer that is at least 1")),
    }
}
