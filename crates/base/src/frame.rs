//! [`frame`]: messages as editors send them: a header that says how long the message is, an empty line, the message.

use std::io::{self, BufRead, Read};

/// The longest message that is taken, in bytes: 16 MiB.
pub const MOST_FRAME_BYTES: u64 = 1 << 24;
/// The longest line of a header, in bytes.
const MOST_LINE_BYTES: u64 = 1 << 12;
/// The field of a header that counts.
const LENGTH: &str = "Content-Length";

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Reading failed.
    #[error(transparent)]
    Stream(#[from] io::Error),
    /// A line of a header is none.
    #[error(
        "`{line}` is no line of a header: each is a name, a colon and a value, and an empty line ends them"
    )]
    Line {
        /// The line.
        line: String,
    },
    /// A line of a header is too long.
    #[error("a line of a header has more than {MOST_LINE_BYTES} bytes: the header ends with an empty line")]
    LongLine,
    /// A header ends without its empty line.
    #[error("the header of a message has no end: an empty line follows it")]
    NoEnd,
    /// A header does not say how long the message is.
    #[error("the header of a message has no `{LENGTH}`: it says how many bytes follow, as `{LENGTH}: 2`")]
    NoLength,
    /// The length of a message is none, or too large.
    #[error("`{LENGTH}: {told}` is no length: it is a whole number of at most {MOST_FRAME_BYTES} bytes")]
    Length {
        /// What the header says.
        told: String,
    },
    /// The input ends within a message.
    #[error("a message ends after {bytes} of the {length} bytes that its header says")]
    Cut {
        /// Bytes that there are.
        bytes: usize,
        /// Bytes that there were to be.
        length: u64,
    },
}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Stream(error) => error,
            wrong => Self::new(io::ErrorKind::InvalidData, wrong),
        }
    }
}

/// The bytes of the next message; none at the end of the input.
///
/// # Errors
///
/// [`FrameError`]; nothing is taken into memory before its length is known to be legal, and no more than there is.
pub fn frame(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>, FrameError> {
    let Some(length) = length(input)? else { return Ok(None) };
    let mut bytes = Vec::new();
    Read::take(input, length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(FrameError::Cut { bytes: bytes.len(), length });
    }
    Ok(Some(bytes))
}

/// The length of the next message; none at the end of the input.
fn length(input: &mut dyn BufRead) -> Result<Option<u64>, FrameError> {
    let (mut length, mut is_first) = (None, true);
    while let Some(line) = line(input)? {
        if line.is_empty() {
            return length.map(Some).ok_or(FrameError::NoLength);
        }
        is_first = false;
        let Some((name, value)) = line.split_once(':') else { return Err(FrameError::Line { line }) };
        if name.eq_ignore_ascii_case(LENGTH) {
            let told = value.trim();
            let found = told.parse().ok().filter(|length| *length <= MOST_FRAME_BYTES);
            length = Some(found.ok_or_else(|| FrameError::Length { told: told.to_owned() })?);
        }
    }
    if is_first { Ok(None) } else { Err(FrameError::NoEnd) }
}

/// The next line of a header, without its end; none at the end of the input.
fn line(input: &mut dyn BufRead) -> Result<Option<String>, FrameError> {
    let mut bytes = Vec::new();
    Read::take(input, MOST_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() as u64 == MOST_LINE_BYTES && !bytes.ends_with(b"\n") {
        return Err(FrameError::LongLine);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn all(mut input: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
        std::iter::from_fn(|| frame(&mut input).transpose()).collect()
    }

    #[test]
    fn messages_follow_each_other() {
        let input =
            b"X: y\r\ncontent-length: 2\r\n\r\n{}Content-Length:0\n\nContent-Length: 3\r\n\r\n\xff\r\n";
        assert_eq!(all(input).unwrap(), [&b"{}"[..], b"", b"\xff\r\n"]);
        assert!(all(b"").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_with_a_header_is_told() {
        let long = format!("X: {}", "y".repeat(5000));
        for (input, told) in [
            ("\r\n\r\n", "has no `Content-Length`"),
            ("Content-Length: 5", "has no end"),
            ("Content-Length: 5\r\nX: y\r\n", "has no end"),
            ("Content-Length: x\r\n\r\n", "`Content-Length: x` is no length"),
            ("Content-Length: -1\r\n\r\n", "at most 16777216 bytes"),
            ("Content-Length: 16777217\r\n\r\n", "at most 16777216 bytes"),
            ("Content-Length: 9223372036854775807\r\n\r\n{}", "at most 16777216 bytes"),
            ("Content-Length: 18446744073709551616\r\n\r\n{}", "at most 16777216 bytes"),
            ("Content-Length: 3\r\n\r\n{}", "ends after 2 of the 3 bytes"),
            ("{\"jsonrpc\"}\r\n\r\n", "is no line of a header"),
            (&long, "more than 4096 bytes"),
        ] {
            let error = all(input.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(told), "{input:?}: {error}");
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
        }
    }
}
