//! [`stdio`]: a connection over standard input and output that records errors of the input.

use std::io;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
use lsp_server::{Connection, Message};
use npukit_base::frame;

use super::LspError;

/// Threads that read and write.
pub struct Streams {
    /// Receives the error that ended the input, if any.
    failure: Receiver<LspError>,
    writer: JoinHandle<io::Result<()>>,
}

/// Opens a connection over standard input and output.
///
/// # Errors
/// The system cannot start a thread.
pub fn stdio() -> io::Result<(Connection, Streams)> {
    let (read, receiver) = bounded(1);
    let (sender, to_write) = bounded(1);
    let (failed, failure) = bounded(1);
    // The thread is not joined: it may block on an editor that sends nothing.
    let _ = thread::Builder::new().name("lsp-reader".to_owned()).spawn(move || {
        // When the channel closes, its receiver finds the reason there.
        if let Err(error) = messages(&mut io::stdin().lock(), &read) {
            let _ = failed.send(error);
        }
        drop(read);
    })?;
    let writer = thread::Builder::new().name("lsp-writer".to_owned()).spawn(move || {
        to_write.into_iter().try_for_each(|message: Message| message.write(&mut io::stdout().lock()))
    })?;
    Ok((Connection { sender, receiver }, Streams { failure, writer }))
}

/// Forwards messages until the input ends, the editor exits, or the receiver is gone.
///
/// # Errors
/// [`LspError::Frame`] and [`LspError::Message`] for bytes that are not messages.
pub fn messages(input: &mut dyn io::BufRead, read: &Sender<Message>) -> Result<(), LspError> {
    while let Some(bytes) = frame(input)? {
        let message: Message = serde_json::from_slice(&bytes).map_err(LspError::Message)?;
        let is_exit = matches!(&message, Message::Notification(said) if said.method == "exit");
        if read.send(message).is_err() || is_exit {
            break;
        }
    }
    Ok(())
}

impl Streams {
    /// Returns the result of a session. An error of the input takes precedence, as it explains why
    /// the connection ended.
    pub fn end(self, served: Result<(), LspError>) -> Result<(), LspError> {
        let written = self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match self.failure.try_recv() {
            Ok(error) => Err(error),
            Err(_) => served.and(written.map_err(LspError::Stream)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use crossbeam_channel::unbounded;

    use super::*;

    /// Reads messages; returns their number and the error, if any.
    fn read(mut input: &[u8]) -> (usize, Option<String>) {
        let (sender, receiver) = unbounded();
        let ended = messages(&mut input, &sender);
        (receiver.try_iter().count(), ended.err().map(|error| error.to_string()))
    }

    #[test]
    fn what_is_wrong_with_messages_is_told() {
        let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let (started, exit) = (framed(r#"{"method":"initialized"}"#), framed(r#"{"method":"exit"}"#));
        assert_eq!(read(format!("{started}{exit}{started}").as_bytes()), (2, None));
        assert_eq!(read(started.as_bytes()), (1, None));
        for (wrong, message) in [
            ("Content-Length: 18446744073709551615\r\n\r\n{}".to_owned(), "at most 16777216 bytes"),
            ("{}\r\n\r\n".to_owned(), "not a header line"),
            (framed("{\"a\":"), "a message is not valid in the protocol"),
            (framed("7"), "a message is not valid in the protocol"),
        ] {
            let (count, error) = read(format!("{started}{wrong}").as_bytes());
            assert_eq!(count, 1);
            assert!(error.as_ref().is_some_and(|error| error.contains(message)), "{wrong:?}: {error:?}");
        }
    }
}
