//! The debugger for editors: [`serve`] speaks the Debug Adapter Protocol of <https://microsoft.github.io/debug-adapter-protocol>.
//!
//! Requests are answered one after the other; a thread of its own reads them, so that `pause` and `disconnect` interrupt a
//! program that runs. A program ends when it has done its last step, and stands there: it may be
//! gone through backwards.
//!
//! | module | is |
//! |---|---|
//! | `message` | frames and messages |
//! | `adapter` | what each request asks for |
//! | `points` | breakpoints of lines, instructions and data |
//! | `variables` | scopes, variables, bytes of memories, the listing |

#![forbid(unsafe_code)]

mod adapter;
mod message;
mod points;
mod variables;

use std::io::{self, BufRead, Write};

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use npukit_debug::{Debugger, Interrupt};
use serde::Deserialize;

use adapter::Adapter;
use message::{Reader, Request, Writer};

/// What an editor launches: the arguments of its `launch` request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// The program: text, words, an artifact's manifest, or a model.
    pub program: String,
    /// Target and instance; an artifact knows its own.
    pub target: Option<String>,
    /// Of an artifact: its model, which is computed in float beside it.
    pub model: Option<String>,
    /// Inputs, as `[NAME=]FILE`.
    pub input: Vec<String>,
    /// What fills memories of a program in text or words, as `NAME[@ADDRESS]=FILE`.
    pub mem: Vec<String>,
    /// Whether it stops before its first step.
    pub stop_on_entry: bool,
}

/// Opens what is launched: a debugger, and what was taken for granted.
pub type Open<'a> = dyn Fn(&Launch) -> Result<(Debugger, Vec<String>), String> + 'a;

/// Requests that wait at most.
const WAITING: usize = 64;

/// Serves an editor until it disconnects, or its requests end. What reads `input` may wait for more behind that.
///
/// # Errors
///
/// What `input` and `output` refuse; frames that are none.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
    open: &Open<'_>,
) -> io::Result<()> {
    let interrupt = Interrupt::default();
    let requests = read(input, interrupt.clone());
    let mut adapter = Adapter::new(Writer::new(output), open, interrupt);
    for request in requests {
        if !adapter.answer(&request?)? {
            break;
        }
    }
    Ok(())
}

/// The requests of an editor, read by a thread of its own, which stops the program for those that do not wait.
fn read(mut input: impl BufRead + Send + 'static, interrupt: Interrupt) -> Receiver<io::Result<Request>> {
    let (sender, receiver) = sync_channel(WAITING);
    thread::spawn(move || {
        let mut reader = Reader::new(&mut input);
        // Who answers may be gone.
        while let Some(request) = reader.next().transpose() {
            if request.as_ref().is_ok_and(interrupts) {
                interrupt.ask();
            }
            let is_last = request.is_err();
            if sender.send(request).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// Whether a program that runs stops for a request.
fn interrupts(request: &Request) -> bool {
    matches!(request.command.as_str(), "pause" | "disconnect" | "terminate")
}
