//! Reading a request of HTTP/1.1 with bounded size and time: [`Request::read`].

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use httparse::Status;

/// Largest size of the request line and the headers, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// Largest number of headers.
const MAX_HEADERS: usize = 64;
/// Largest size of a body, in bytes.
const MAX_BODY: usize = 4 << 20;
/// Longest time for a whole request.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Number of bytes that are read at once.
const STEP: usize = 8 << 10;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path without a query.
    pub(super) path: String,
    /// Names in lower case, and values.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Reason why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The client has left, or needs too long.
    Left,
    /// The request is refused with a status and a message.
    Refused(u16, String),
}

impl From<io::Error> for Unread {
    fn from(_: io::Error) -> Self {
        Self::Left
    }
}

fn refused(status: u16, message: impl Into<String>) -> Unread {
    Unread::Refused(status, message.into())
}

impl Request {
    /// Reads a request.
    pub(super) fn read(stream: &mut TcpStream) -> Result<Self, Unread> {
        let mut source = Source { stream, end: Instant::now() + MAX_TIME };
        let mut bytes = Vec::new();
        let (mut request, head) = loop {
            match parsed(&bytes)? {
                Some(found) => break found,
                None if bytes.len() > MAX_HEAD => {
                    return Err(refused(431, format!("headers are larger than {MAX_HEAD} bytes")));
                }
                None => source.add(&mut bytes)?,
            }
        };
        let length = request.length()?;
        let mut body = bytes.split_off(head);
        if request.header("expect").is_some_and(|text| text.eq_ignore_ascii_case("100-continue")) {
            source.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        while body.len() < length {
            source.add(&mut body)?;
        }
        body.truncate(length);
        request.body = body;
        Ok(request)
    }

    /// Returns the value of the header with a name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the size of the body in bytes.
    fn length(&self) -> Result<usize, Unread> {
        if self.header("transfer-encoding").is_some() {
            return Err(refused(411, "a body needs a Content-Length, and no Transfer-Encoding"));
        }
        let lengths = self.headers.iter().filter(|(name, _)| name == "content-length");
        let mut lengths = lengths.map(|(_, value)| value);
        // Default: no body.
        let Some(length) = lengths.next() else { return Ok(0) };
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || lengths.any(|other| other != length) {
            return Err(refused(400, "Content-Length is not a number"));
        }
        let length = length.parse().ok().filter(|&length: &usize| length <= MAX_BODY);
        length.ok_or_else(|| refused(413, format!("the body is larger than {MAX_BODY} bytes")))
    }
}

/// Returns the request and the size of its head; `None` if the head is incomplete.
fn parsed(bytes: &[u8]) -> Result<Option<(Request, usize)>, Unread> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let status = request.parse(bytes).map_err(|error| refused(400, error.to_string()))?;
    let (Status::Complete(head), Some(method), Some(path)) = (status, request.method, request.path) else {
        return Ok(None);
    };
    let header = |header: &httparse::Header<'_>| {
        let value = std::str::from_utf8(header.value).map_err(|_| refused(400, "a header is not text"))?;
        Ok((header.name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers = request.headers.iter().map(header).collect::<Result<_, Unread>>()?;
    let path = path.split_once('?').map_or(path, |(path, _)| path).to_owned();
    Ok(Some((Request { method: method.to_owned(), path, headers, body: Vec::new() }, head)))
}

/// Bytes of a client, until a time.
struct Source<'a> {
    stream: &'a mut TcpStream,
    end: Instant,
}

impl Source<'_> {
    /// Adds the next bytes.
    fn add(&mut self, bytes: &mut Vec<u8>) -> Result<(), Unread> {
        let left = self.end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        self.stream.set_read_timeout(Some(left.ok_or(Unread::Left)?))?;
        let mut step = [0; STEP];
        match self.stream.read(&mut step)? {
            0 => Err(Unread::Left),
            count => {
                bytes.extend(&step[..count]);
                Ok(())
            }
        }
    }
}
