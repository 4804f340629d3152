//! [`assembly`]: source texts of programs.

use npukit_target::{Instance, NoFiles, TargetError};

use crate::check_message;
use crate::instances::{Known, of};
use crate::words::listed;

/// Readers: `t`, `o`, `p`, `d`: assembly of the targets; `l`: drra in the later encoding; `k`:
/// drra's PASM.
///
/// A text that assembles must be formatted to a text that assembles to the same words, as must its
/// listing. Included files are absent.
pub fn assembly(input: &[u8]) {
    let Some((known, bytes)) = of(input) else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Known { file, instance, .. } = known;
    let assembled = instance.assemble(file, text, &NoFiles);
    let laid_out = laid_out(&**instance, file, text);
    match assembled {
        Err(error) => check_message(file, &error),
        Ok(assembled) => {
            if let Some(laid_out) = laid_out {
                let laid_out =
                    laid_out.unwrap_or_else(|error| panic!("assembles, but cannot be formatted: {error}"));
                let again = instance.assemble(file, &laid_out, &NoFiles).map(|again| again.bytes);
                let again = again.unwrap_or_else(|error| panic!("formatted as {laid_out:?}: {error}"));
                assert_eq!(assembled.bytes, again, "formatted as {laid_out:?}");
            }
            let lines = instance.list(file, text, &NoFiles);
            assert!(lines.is_ok() || file.ends_with(".pasm"), "assembles, but its lines cannot be listed");
            listed(known, &assembled.bytes);
        }
    }
}

/// Returns the formatted text, after checking that formatting again changes nothing. `None` for a
/// target without a formatter.
fn laid_out(instance: &dyn Instance, file: &str, text: &str) -> Option<Result<String, TargetError>> {
    let laid_out = match instance.format(file, text) {
        Err(TargetError::Unsupported { .. }) => return None,
        Err(error) => {
            check_message(file, &error);
            return Some(Err(error));
        }
        Ok(laid_out) => laid_out,
    };
    let again = instance.format(file, &laid_out);
    let again = again.unwrap_or_else(|error| panic!("formatted as {laid_out:?}: {error}"));
    assert_eq!(laid_out, again, "formatted a second time");
    Some(Ok(laid_out))
}
