//! Debugger for editors: [`serve`] implements the Debug Adapter Protocol of
//! <https://microsoft.github.io/debug-adapter-protocol>.
//!
//! Requests are answered one after the other. A separate thread reads them, so that `pause` and
//! `disconnect` interrupt a running program. After its last step, a program stays at its end, and
//! can be run backwards.
//!
//! | module | contents |
//! |---|---|
//! | `message` | frames and messages |
//! | `adapter` | implementation of each request |
//! | `points` | breakpoints of lines, instructions and data |
//! | `values` | arguments of requests; references to instructions and texts |
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

/// Maximum number of queued requests.
const WAITING: usize = 64;

/// Serves an editor until it disconnects or its requests end. The thread that reads `input` may
/// still wait for more input afterwards.
///
/// # Errors
/// Errors of `input` and `output`, and invalid frames.
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

/// Starts a thread that reads the editor's requests and stops the program for a request that
/// cannot wait.
fn read(mut input: impl BufRead + Send + 'static, interrupt: Interrupt) -> Receiver<io::Result<Request>> {
    let (sender, receiver) = sync_channel(WAITING);
    thread::spawn(move || {
        let mut reader = Reader::new(&mut input);
        // The receiver may be gone.
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

/// Whether a request stops a running program.
fn interrupts(request: &Request) -> bool {
    matches!(request.command.as_str(), "pause" | "disconnect" | "terminate")
}
