//! `npu serve`: a language model with the HTTP interface of OpenAI: [`run`].
//!
//! Each connection has a thread, which reads one request, waits for its answer, and closes the
//! connection. One thread has the model, and continues the texts of a queue one after the other; a
//! text that begins like the one before only costs the rest. If a client disconnects, its text is
//! not continued.

mod api;
mod body;
mod choices;
mod connection;
mod queue;
mod request;
mod response;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use npukit::verbs::generate::Session;

use api::Server;
pub use npukit_cli::ServeSettings;

/// Connections beyond the queue: they are read, answered at once, or refused.
const MORE_CONNECTIONS: usize = 64;
/// Stack size of the thread with the model.
const STACK_BYTES: usize = 16 << 20;

/// Serves a model until the process ends. `ready` is called with the address.
///
/// # Errors
///
/// The address cannot be used, or a thread cannot be started.
pub fn run(session: Session, settings: &ServeSettings, ready: &dyn Fn(SocketAddr)) -> io::Result<()> {
    let listener = TcpListener::bind((settings.address, settings.port))?;
    let (sender, receiver) = sync_channel(settings.queue);
    let server = Arc::new(Server::new(&session, settings, sender));
    let worker = thread::Builder::new().name("model".to_owned()).stack_size(STACK_BYTES);
    worker.spawn(move || queue::work(session, &receiver))?;
    ready(listener.local_addr()?);
    let open = Arc::new(AtomicUsize::new(0));
    let most = settings.queue.saturating_add(MORE_CONNECTIONS);
    loop {
        // A connection that ended at once, or too many open files: the next one may work.
        let Ok((stream, _)) = listener.accept() else { continue };
        if open.load(Ordering::Relaxed) >= most {
            connection::refuse(stream);
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (server, counted) = (Arc::clone(&server), Arc::clone(&open));
        let answer = move || {
            connection::answer(stream, &server);
            counted.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().name("client".to_owned()).spawn(answer).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
