//! Standard input and output as files: `-`, or `-.csv` if an extension must identify the format
//! (after `--` or `=`, since it looks like an option). A file of such a name is `./-`.

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a path is standard input or output instead of a file.
pub fn is_standard(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path == "-" || path.starts_with("-.") && !path.contains(['/', '\\']))
}

/// Returns all of standard input, which is read on first use and kept.
///
/// Errors: errors of the system; the input has more than `most_bytes`.
pub fn input(most_bytes: u64) -> io::Result<&'static [u8]> {
    static INPUT: OnceLock<Result<Vec<u8>, (io::ErrorKind, String)>> = OnceLock::new();
    let read = INPUT.get_or_init(|| {
        bounded(io::stdin().lock(), most_bytes).map_err(|error| (error.kind(), error.to_string()))
    });
    read.as_deref().map_err(|(kind, reason)| io::Error::new(*kind, reason.clone()))
}

fn bounded(from: impl Read, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::Error::other(format!("it has more than {most_bytes} bytes")));
    }
    Ok(bytes)
}

/// Standard output as the place of a file.
pub struct Output;

/// Whether a file has been written to standard output.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether standard output contains a file, so that reports must be written elsewhere.
pub fn is_taken() -> bool {
    IS_TAKEN.load(Ordering::Relaxed)
}

/// Reserves standard output for other code.
pub fn take() {
    IS_TAKEN.store(true, Ordering::Relaxed);
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !is_text(bytes) && io::stdout().is_terminal() {
            let reason =
                "standard output is a terminal, but the output is not text: redirect it to a file or a pipe";
            return Err(io::Error::other(reason));
        }
        IS_TAKEN.store(true, Ordering::Relaxed);
        io::stdout().lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().lock().flush()
    }
}

/// Whether a terminal shows the bytes unchanged, judged by control characters.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_dash_is_no_file() {
        let is = |path: &str| is_standard(Path::new(path));
        assert!(is("-") && is("-.npy"));
        assert!(!is("./-") && !is("-x") && !is("-.d/x") && !is(""));
    }

    #[test]
    fn input_has_an_end() {
        assert_eq!(bounded(&b"abc"[..], 3).unwrap(), b"abc");
        assert_eq!(bounded(&b"abcd"[..], 3).unwrap_err().to_string(), "it has more than 3 bytes");
    }

    #[test]
    fn words_are_no_text() {
        assert!(is_text("h\u{e9}\r\n\t".as_bytes()) && !is_text(b"PK\x03\x04") && !is_text(&[0]));
    }
}
