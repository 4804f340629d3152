//! Messages of the protocol: JSON in frames.

use std::io::{self, BufRead, Write};

use npukit_base::frame;
use serde::Deserialize;
use serde_json::{Value, json};

/// Request of an editor.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub(crate) struct Request {
    pub seq: i64,
    pub command: String,
    #[serde(default)]
    pub arguments: Value,
}

/// Reader of requests.
pub(crate) struct Reader<'a> {
    input: &'a mut dyn BufRead,
}

impl<'a> Reader<'a> {
    pub fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input }
    }

    /// Returns the next request, or `None` at the end of input. Skips messages that are not
    /// requests.
    pub fn next(&mut self) -> io::Result<Option<Request>> {
        while let Some(bytes) = frame(self.input)? {
            let message: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
            if message.get("type").and_then(Value::as_str) == Some("request") {
                let request = serde_json::from_value(message);
                return request.map(Some).map_err(|error| wrong(error.to_string()));
            }
        }
        Ok(None)
    }
}

fn wrong(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Writer of responses and events.
pub(crate) struct Writer<'a> {
    output: &'a mut dyn Write,
    seq: i64,
}

impl<'a> Writer<'a> {
    pub fn new(output: &'a mut dyn Write) -> Self {
        Self { output, seq: 0 }
    }

    /// Answers a request with a body or an error message.
    pub fn answer(&mut self, request: &Request, result: Result<Value, String>) -> io::Result<()> {
        let Request { seq, command, .. } = request;
        let mut message = json!({ "type": "response", "request_seq": seq, "command": command });
        match result {
            Ok(body) => {
                message["success"] = true.into();
                message["body"] = or_empty(body);
            }
            Err(text) => {
                message["success"] = false.into();
                message["message"] = text.clone().into();
                message["body"] = json!({ "error": { "id": 1, "format": text, "showUser": true } });
            }
        }
        self.send(message)
    }

    /// Sends an event.
    pub fn event(&mut self, event: &str, body: Value) -> io::Result<()> {
        self.send(json!({ "type": "event", "event": event, "body": or_empty(body) }))
    }

    fn send(&mut self, mut message: Value) -> io::Result<()> {
        self.seq += 1;
        message["seq"] = self.seq.into();
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }
}

/// Replaces null by an empty body, which some editors require.
fn or_empty(body: Value) -> Value {
    if body.is_null() { json!({}) } else { body }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn read(text: &str) -> io::Result<Option<Request>> {
        Reader::new(&mut text.as_bytes()).next()
    }

    #[test]
    fn frames_are_read() {
        let message = r#"{"type":"request","seq":7,"command":"next"}"#;
        let framed = format!("X: y\r\ncontent-length: {}\r\n\r\n{message}", message.len());
        let request = Request { seq: 7, command: "next".to_owned(), arguments: Value::Null };
        assert_eq!(read(&framed).unwrap(), Some(request));
        assert_eq!(read("").unwrap(), None);
        for wrong in [
            "\r\n\r\n",
            "Content-Length: 5",
            "Content-Length: x\r\n\r\n",
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: 2\r\n\r\n{",
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
