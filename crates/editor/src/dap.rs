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
//! | `values` | what arguments say, and how instructions and texts are named |
//! | `variables` | scopes, variables, bytes of memories, the listing |

mod adapter;
mod message;
mod points;
mod values;
mod variables;

use std::io::{self, BufRead, Write};

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use npukit_debug::{Interrupt, Open};

use adapter::Adapter;
use message::{Reader, Request, Writer};

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
