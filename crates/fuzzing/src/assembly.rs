//! [`assembly`]: texts of programs.

use npukit_target::{Instance, NoFiles, TargetError};

use crate::instances::{Known, of};
use crate::told_of;
use crate::words::listed;

/// `t`, `o`, `p`, `d`: assembly of the targets; `l`: drra in the later encoding; `k`: drra's PASM.
///
/// A text that assembles is laid out as one that assembles to the same words, whose listing does so too. It includes no
/// files; there are none.
pub fn assembly(input: &[u8]) {
    let Some((known, bytes)) = of(input) else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Known { file, instance, .. } = known;
    let assembled = instance.assemble(file, text, &NoFiles);
    let laid_out = laid_out(&**instance, file, text);
    match assembled {
        Err(error) => told_of(file, &error),
        Ok(assembled) => {
            if let Some(laid_out) = laid_out {
                let laid_out =
                    laid_out.unwrap_or_else(|error| panic!("assembles, but is not laid out: {error}"));
                let again = instance.assemble(file, &laid_out, &NoFiles).map(|again| again.bytes);
                let again = again.unwrap_or_else(|error| panic!("laid out as {laid_out:?}: {error}"));
                assert_eq!(assembled.bytes, again, "laid out as {laid_out:?}");
            }
            let lines = instance.list(file, text, &NoFiles);
            assert!(lines.is_ok() || file.ends_with(".pasm"), "assembles, but has no listing of lines");
            listed(known, &assembled.bytes);
        }
    }
}

/// The text laid out, in which a second time changes nothing; none of a target that lays out no texts.
fn laid_out(instance: &dyn Instance, file: &str, text: &str) -> Option<Result<String, TargetError>> {
    let laid_out = match instance.format(file, text) {
        Err(TargetError::Unsupported { .. }) => return None,
        Err(error) => {
            told_of(file, &error);
            return Some(Err(error));
        }
        Ok(laid_out) => laid_out,
    };
    let again = instance.format(file, &laid_out);
    let again = again.unwrap_or_else(|error| panic!("laid out as {laid_out:?}: {error}"));
    assert_eq!(laid_out, again, "laid out a second time");
    Some(Ok(laid_out))
}
