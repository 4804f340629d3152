//! A connection: reads a request, and writes its answer at once or as a stream: [`answer`].

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::api::{Server, Started};
use super::choices::{Failed, Progress};
use super::request::{Request, Unread};
use super::response::Response;

/// Interval of checking whether a waiting client is still there.
const INTERVAL: Duration = Duration::from_millis(50);
/// Longest time for a client to take a part of an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time in which the rest of a request is read after its answer.
const LINGER: Duration = Duration::from_millis(500);

/// Reads and answers one request. Nothing is answered to a client that has left.
pub(super) fn answer(mut stream: TcpStream, server: &Server) {
    let answered = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    let answered = answered.and_then(|()| match Request::read(&mut stream) {
        Err(Unread::Left) => Err(ErrorKind::ConnectionAborted.into()),
        Err(Unread::Refused(status, message)) => {
            write(&mut stream, &Response::failed(&Failed::new(status, message)))
        }
        Ok(request) => match server.start(&request) {
            Started::Answered(response) => write(&mut stream, &response),
            Started::Waiting(mut progress) => {
                let waited = wait(&mut stream, &mut progress);
                progress.is_cancelled.store(true, Ordering::Relaxed);
                waited
            }
        },
    });
    if answered.is_ok() {
        close(stream);
    }
}

/// Refuses a connection, since there are too many.
pub(super) fn refuse(mut stream: TcpStream) {
    let failed = Failed::new(503, "there are too many connections; try again later");
    let written = stream
        .set_write_timeout(Some(INTERVAL))
        .and_then(|()| write(&mut stream, &Response::failed(&failed)));
    // A client that has left needs no answer.
    let _ = written.and_then(|()| stream.shutdown(Shutdown::Write));
}

/// Waits for the events of a text, and writes them.
fn wait(stream: &mut TcpStream, progress: &mut Progress) -> io::Result<()> {
    loop {
        match progress.events.recv_timeout(INTERVAL) {
            Ok(event) => match progress.add(event) {
                Ok(parts) => {
                    for part in parts {
                        send(stream, progress, &part)?;
                    }
                }
                Err(failed) => return fail(stream, progress, &failed),
            },
            Err(RecvTimeoutError::Timeout) if has_left(stream)? => {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let origin = progress.origin.clone();
    match progress.whole() {
        Ok(_) if progress.is_stream => stream.write_all(b"data: [DONE]\n\n"),
        Ok(body) => write(stream, &Response { status: 200, origin, body: body.to_string() }),
        Err(failed) => fail(stream, progress, &failed),
    }
}

/// Writes an error: as the last part of a stream that has begun, or as the answer.
fn fail(stream: &mut TcpStream, progress: &Progress, failed: &Failed) -> io::Result<()> {
    if progress.has_sent {
        return stream.write_all(format!("data: {}\n\n", failed.json()).as_bytes());
    }
    write(stream, &Response { origin: progress.origin.clone(), ..Response::failed(failed) })
}

/// Writes a part of a stream, after its head.
fn send(stream: &mut TcpStream, progress: &mut Progress, part: &Value) -> io::Result<()> {
    let mut text = String::new();
    if !progress.has_sent {
        text = head(200, "text/event-stream", progress.origin.as_deref(), None);
        progress.has_sent = true;
    }
    text += &format!("data: {part}\n\n");
    stream.write_all(text.as_bytes())
}

/// Whether a client has closed its connection.
fn has_left(stream: &TcpStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    match stream.peek(&mut [0]) {
        Ok(count) => Ok(count == 0),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
        Err(error) => Err(error),
    }
}

fn write(stream: &mut TcpStream, response: &Response) -> io::Result<()> {
    let Response { status, origin, body } = response;
    let head = head(*status, "application/json", origin.as_deref(), Some(body.len()));
    stream.write_all((head + body).as_bytes())
}

/// Returns the head of an answer. Without a length, the answer ends with the connection.
fn head(status: u16, kind: &str, origin: Option<&str>, length: Option<usize>) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let mut head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nConnection: close\r\n"
    );
    if let Some(length) = length {
        head += &format!("Content-Length: {length}\r\n");
    }
    if let Some(origin) = origin {
        head += &format!(
            "Access-Control-Allow-Origin: {origin}\r\nAccess-Control-Allow-Methods: GET, POST\r\n\
             Access-Control-Allow-Headers: *, Authorization\r\nVary: Origin\r\n"
        );
    }
    head + "\r\n"
}

/// Closes a connection. What the client still sends is read first, because otherwise the system
/// would discard the answer.
fn close(mut stream: TcpStream) {
    let end = Instant::now() + LINGER;
    let mut rest = [0; 1024];
    // The client may have left.
    let mut goes_on =
        stream.shutdown(Shutdown::Write).is_ok() && stream.set_read_timeout(Some(LINGER)).is_ok();
    while goes_on && Instant::now() < end {
        goes_on = stream.read(&mut rest).is_ok_and(|count| count > 0);
    }
}
