//! [`messages`]: messages of an editor to `npu lsp`.

use std::panic::{set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use lsp_server::{Connection, Message};
use npukit_editor::lsp::Workshop;
use npukit_target::{Instance, NoFiles, Reader};

use crate::message;

/// First messages of every editor.
const FIRST: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
];

/// Number of panics so far. The server survives a panic, but here it is an error.
static PANICS: AtomicUsize = AtomicUsize::new(0);
static COUNTING: Once = Once::new();

/// Readers: `b`: all bytes of a session; `s`: the messages of an open session, one per line.
///
/// A session must end, with one answer to each request, and no answer may report a failure of the
/// server.
pub fn messages(input: &[u8]) {
    match input.split_first() {
        Some((b'b', bytes)) => session(bytes),
        Some((b's', lines)) => {
            let lines = FIRST.iter().map(|line| line.as_bytes()).chain(lines.split(|&byte| byte == b'\n'));
            let framed = lines.filter(|line| !line.is_empty()).flat_map(framed);
            session(&framed.collect::<Vec<u8>>());
        }
        _ => {}
    }
}

fn framed(line: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", line.len()).as_bytes(), line].concat()
}

fn session(mut bytes: &[u8]) {
    COUNTING.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
    let panics = PANICS.load(Ordering::Relaxed);
    let (editor, server) = Connection::memory();
    let Connection { sender, receiver } = editor;
    if let Err(error) = npukit_editor::lsp::messages(&mut bytes, &sender) {
        message(&error);
    }
    drop(sender);
    if let Err(error) = npukit_editor::lsp::serve(&server, &World) {
        message(&error);
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), panics, "the server failed");
    for message in receiver.try_iter() {
        if let Message::Response(answer) = message {
            assert!(
                answer.result.is_some() != answer.error.is_some(),
                "an answer has neither result nor error, or both: {answer:?}"
            );
        }
    }
}

/// All targets, and no files.
struct World;

impl Workshop for World {
    fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String> {
        npukit::resolve(spec, &NoFiles).map_err(|error| message(&error))
    }

    fn of_folder(&self, _path: &str) -> Option<String> {
        None
    }

    fn fallback(&self) -> Option<String> {
        Some("tcu".to_owned())
    }

    fn instances(&self) -> Vec<(String, String)> {
        npukit::targets().iter().map(|target| (target.name.to_owned(), target.summary.to_owned())).collect()
    }

    fn files(&self) -> &dyn Reader {
        &NoFiles
    }
}
