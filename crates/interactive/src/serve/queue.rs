//! Queue of texts for the thread with the model: [`work`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use npukit::Error;
use npukit::verbs::generate::{Continuation, End, Message, Session, Text};

/// A text to continue.
pub(super) struct Job {
    pub(super) prompt: Prompt,
    pub(super) continuation: Continuation,
    /// Sender of the answer's parts.
    pub(super) events: Sender<Event>,
    /// Whether the client has left.
    pub(super) is_cancelled: Arc<AtomicBool>,
}

/// Prompt of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    Text(String),
    Ids(Vec<usize>),
    Chat(Vec<Message>),
}

/// Part of an answer.
pub(super) enum Event {
    /// The prompt was processed.
    Begun { prompt_tokens: usize, reused: usize },
    /// More text is known; may be empty.
    Text(String),
    /// The answer is complete.
    Ended { end: End, tokens: usize },
    /// The answer failed.
    Failed { is_of_request: bool, message: String },
}

/// Answers all jobs, until no more can come.
pub(super) fn work(mut session: Session, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        if job.is_cancelled.load(Ordering::Relaxed) {
            continue;
        }
        // If the client has left, the events are not received.
        let _ = match begun(&mut session, &job) {
            Ok(text) => finish(&mut session, &job, text),
            Err(error) => send(&job, Event::Failed { is_of_request: true, message: message(&error) }),
        };
    }
}

/// Nobody waits for the answer.
struct Left;

fn send(job: &Job, event: Event) -> Result<(), Left> {
    job.events.send(event).map_err(|_| Left)
}

/// Processes the prompt of a job.
fn begun(session: &mut Session, job: &Job) -> Result<Text, Error> {
    let ids = match &job.prompt {
        Prompt::Text(text) => session.encode(text)?,
        Prompt::Ids(ids) => ids.clone(),
        Prompt::Chat(messages) => session.encode_chat(messages)?,
    };
    let mut text = session.begin(ids, &job.continuation)?;
    session.read(&mut text)?;
    Ok(text)
}

/// Continues a text to its end.
fn finish(session: &mut Session, job: &Job, mut text: Text) -> Result<(), Left> {
    send(job, Event::Begun { prompt_tokens: text.prompt_ids().len(), reused: text.reused() })?;
    loop {
        if job.is_cancelled.load(Ordering::Relaxed) {
            return Err(Left);
        }
        match session.next(&mut text) {
            Ok(Some(token)) => send(job, Event::Text(token.text))?,
            Ok(None) => break,
            Err(error) => {
                return send(job, Event::Failed { is_of_request: false, message: message(&error) });
            }
        }
    }
    // Default: a text without a further token has its maximum length.
    let end = text.end().cloned().unwrap_or(End::Length);
    send(job, Event::Ended { end, tokens: text.ids().len() })
}

/// Returns an error and its causes as one text.
fn message(error: &Error) -> String {
    let parts = error.diagnostics().into_iter().map(|one| match one.help {
        Some(help) => format!("{}; {help}", one.message),
        None => one.message,
    });
    parts.collect::<Vec<_>>().join("; ")
}
