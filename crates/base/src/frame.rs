//! [`frame`]: reads messages of editor protocols. A message consists of a header with its length,
//! an empty line, and the content.

use std::io::{self, BufRead, Read};

/// Longest message that is accepted, in bytes: 16 MiB.
pub const MAX_FRAME_BYTES: u64 = 1 << 24;
/// Longest header line, in bytes.
const MAX_LINE_BYTES: u64 = 1 << 12;
/// Header field with the length of the content.
const LENGTH: &str = "Content-Length";

/// Reason why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Reading failed.
    #[error(transparent)]
    Stream(#[from] io::Error),
    /// A line is not a header line.
    #[error(
        "`{line}` is not a header line: write a name, a colon and a value, and end the header with an empty line"
    )]
    Line {
        /// Line found.
        line: String,
    },
    /// A header line is too long.
    #[error("a header line has more than {MAX_LINE_BYTES} bytes; an empty line must end the header")]
    LongLine,
    /// The input ends within a header.
    #[error("the header of a message has no end; an empty line must follow it")]
    NoEnd,
    /// A header has no length.
    #[error(
        "the header of a message has no `{LENGTH}`; it must give the number of bytes that follow, such as `{LENGTH}: 2`"
    )]
    NoLength,
    /// The length is not a number, or is too large.
    #[error(
        "`{LENGTH}: {given}` is not a length; it must be a whole number of at most {MAX_FRAME_BYTES} bytes"
    )]
    Length {
        /// Value of the header field.
        given: String,
    },
    /// The input ends within a message.
    #[error("a message ends after {bytes} of the {length} bytes in its header")]
    Cut {
        /// Number of bytes read.
        bytes: usize,
        /// Number of bytes in the header.
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

/// Reads the next message; `None` at the end of the input.
///
/// # Errors
///
/// [`FrameError`]. Memory is allocated only after the length is known to be legal, and only for
/// bytes that exist.
pub fn frame(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>, FrameError> {
    let Some(length) = length(input)? else { return Ok(None) };
    let mut bytes = Vec::new();
    Read::take(input, length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(FrameError::Cut { bytes: bytes.len(), length });
    }
    Ok(Some(bytes))
}

/// Reads the length of the next message; `None` at the end of the input.
fn length(input: &mut dyn BufRead) -> Result<Option<u64>, FrameError> {
    let (mut length, mut is_first) = (None, true);
    while let Some(line) = line(input)? {
        if line.is_empty() {
            return length.map(Some).ok_or(FrameError::NoLength);
        }
        is_first = false;
        let Some((name, value)) = line.split_once(':') else { return Err(FrameError::Line { line }) };
        if name.eq_ignore_ascii_case(LENGTH) {
            let given = value.trim();
            let found = given.parse().ok().filter(|length| *length <= MAX_FRAME_BYTES);
            length = Some(found.ok_or_else(|| FrameError::Length { given: given.to_owned() })?);
        }
    }
    if is_first { Ok(None) } else { Err(FrameError::NoEnd) }
}

/// Reads the next header line, without its line end; `None` at the end of the input.
fn line(input: &mut dyn BufRead) -> Result<Option<String>, FrameError> {
    let mut bytes = Vec::new();
    Read::take(input, MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
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
        for (input, given) in [
            ("\r\n\r\n", "has no `Content-Length`"),
            ("Content-Length: 5", "has no end"),
            ("Content-Length: 5\r\nX: y\r\n", "has no end"),
            ("Content-Length: x\r\n\r\n", "`Content-Length: x` is not a length"),
            ("Content-Length: -1\r\n\r\n", "at most 16777216 bytes"),
            ("Content-Length: 16777217\r\n\r\n", "at most 16777216 bytes"),
            ("Content-Length: 9223372036854775807\r\n\r\n{}", "at most 16777216 bytes"),
            ("Content-Length: 18446744073709551616\r\n\r\n{}", "at most 16777216 bytes"),
            ("Content-Length: 3\r\n\r\n{}", "ends after 2 of the 3 bytes"),
            ("{\"jsonrpc\"}\r\n\r\n", "is not a header line"),
            (&long, "more than 4096 bytes"),
        ] {
            let error = all(input.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(given), "{input:?}: {error}");
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
        }
    }
}
