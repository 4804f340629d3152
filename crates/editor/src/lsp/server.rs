//! [`serve`]: takes messages, keeps the texts, answers.

mod capabilities;
mod requests;
mod streams;
mod worker;

pub use streams::messages;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, at, never, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Notification as Named, PublishDiagnostics,
};
use lsp_types::request::{InlayHintRefreshRequest, Request as NamedRequest};
use lsp_types::{InitializeParams, PublishDiagnosticsParams, Uri};
use npukit_asm::analysis::Analysis;
use npukit_base::FrameError;
use npukit_target::{Instance, bytes_of, text_target};
use serde_json::{Value, json};

use crate::lsp::checks::{Checked, Job};
use crate::lsp::diagnostics::diagnostics;
use crate::lsp::document::{Document, Known, Target};
use crate::lsp::files::{Open, Texts};
use crate::lsp::hints::Shown;
use crate::lsp::workshop::Workshop;

/// Why the server ends before it is told to.
#[derive(Debug, thiserror::Error)]
pub enum LspError {
    /// The editor does not speak the protocol.
    #[error("the editor does not keep to the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// What it sends is not framed as messages are.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// What it sends is no message.
    #[error("a message is none of the protocol: {0}")]
    Message(serde_json::Error),
    /// It went before it said anything.
    #[error("the editor went before it asked for `initialize`, with which a session begins")]
    Gone,
    /// What it said of itself cannot be read.
    #[error("what the editor says of itself is not of the protocol: {0}")]
    Initialize(#[from] serde_json::Error),
    /// Input or output failed.
    #[error("input or output failed: {0}")]
    Stream(#[from] std::io::Error),
}

/// Serves an editor on standard input and output, until it ends.
///
/// # Errors
///
/// [`LspError`] when the editor goes without saying so, or says what is not of the protocol.
pub fn stdio(workshop: &dyn Workshop) -> Result<(), LspError> {
    let (connection, streams) = streams::stdio()?;
    let served = serve(&connection, workshop);
    drop(connection);
    streams.end(served)
}

/// Serves an editor, until it ends.
///
/// # Errors
///
/// Those of [`stdio`], but for those of streams.
pub fn serve(connection: &Connection, workshop: &dyn Workshop) -> Result<(), LspError> {
    let (id, params) = connection.initialize_start().map_err(gone)?;
    let params: InitializeParams = serde_json::from_value(params)?;
    let answer = json!({
        "capabilities": capabilities::capabilities(),
        "serverInfo": { "name": "npu lsp", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer).map_err(gone)?;
    std::thread::scope(|scope| {
        let (jobs, queue) = unbounded();
        let (results, found) = unbounded();
        let server = Server::new(connection, workshop, &params, jobs);
        let files = server.open();
        scope.spawn(move || worker::work(&queue, &results, &files));
        server.run(&found)
    })
}

/// What it means that a session does not begin.
fn gone(error: ProtocolError) -> LspError {
    if error.channel_is_disconnected() { LspError::Gone } else { error.into() }
}

/// How long nothing changes before it is told what is wrong with texts.
const PAUSE: Duration = Duration::from_millis(25);

struct Server<'a> {
    connection: &'a Connection,
    workshop: &'a dyn Workshop,
    jobs: Sender<Job>,
    /// By their names in the protocol.
    documents: BTreeMap<String, Document>,
    /// What they are, by their paths.
    texts: Texts,
    /// By paths the names of texts that were found to include what is there.
    includers: HashMap<String, BTreeSet<String>>,
    /// By their names; with why there is none.
    instances: HashMap<String, Result<Arc<dyn Instance>, String>>,
    /// Texts of which something new is to be told.
    dirty: BTreeSet<String>,
    /// Texts of which something is wrong as they were told last.
    faulty: BTreeSet<String>,
    shown: Shown,
    /// Whether the editor asks for hints again when it is told to.
    refreshes_hints: bool,
    /// Requests that were sent.
    sent: i32,
}

impl<'a> Server<'a> {
    fn new(
        connection: &'a Connection,
        workshop: &'a dyn Workshop,
        params: &InitializeParams,
        jobs: Sender<Job>,
    ) -> Self {
        let hints = params.capabilities.workspace.as_ref().and_then(|of| of.inlay_hint.as_ref());
        Self {
            connection,
            workshop,
            jobs,
            documents: BTreeMap::new(),
            texts: Texts::default(),
            includers: HashMap::new(),
            instances: HashMap::new(),
            dirty: BTreeSet::new(),
            faulty: BTreeSet::new(),
            shown: Shown::of(params.initialization_options.as_ref()),
            // Default: who does not say so does not.
            refreshes_hints: hints.and_then(|of| of.refresh_support).unwrap_or(false),
            sent: 0,
        }
    }

    fn run(mut self, found: &Receiver<(String, Checked)>) -> Result<(), LspError> {
        let mut found = found.clone();
        let mut quiet_from = Instant::now();
        loop {
            // Who types on is not told of what is gone.
            let pause = if self.dirty.is_empty() { never() } else { at(quiet_from + PAUSE) };
            select! {
                recv(self.connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => {
                        if self.connection.handle_shutdown(&request)? {
                            return Ok(());
                        }
                        self.request(request);
                    }
                    Ok(Message::Notification(notification)) => {
                        self.notified(notification);
                        quiet_from = Instant::now();
                    }
                    // Of what was sent nothing is asked but that it is done.
                    Ok(Message::Response(_)) => {}
                    Err(_) => return Ok(()),
                },
                recv(found) -> checked => match checked {
                    Ok((uri, checked)) => self.guarded(|server| server.checked(&uri, checked)),
                    // Without the other thread nothing more is found.
                    Err(_) => found = never(),
                },
                recv(pause) -> _ => {
                    for uri in std::mem::take(&mut self.dirty) {
                        self.guarded(|server| server.tell(&uri));
                    }
                }
            }
        }
    }

    /// Does what nobody waits for: a defect of ours leaves it undone, and does not end the editor's session.
    fn guarded(&mut self, does: impl FnOnce(&mut Self)) {
        // The panic has been told on standard error.
        let _ = catch_unwind(AssertUnwindSafe(|| does(self)));
    }

    fn request(&mut self, Request { id, method, params }: Request) {
        // A defect of ours ends an answer, not the editor's session.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&method, params)));
        let response = match answer {
            Ok(Some(Ok(value))) => Response::new_ok(id, value),
            Ok(Some(Err((code, message)))) => Response::new_err(id, code as i32, message),
            Ok(None) => {
                Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("there is no `{method}`"))
            }
            Err(_) => Response::new_err(id, ErrorCode::InternalError as i32, format!("`{method}` failed")),
        };
        self.send(response.into());
    }

    fn send(&self, message: Message) {
        // An editor that is gone ends the loop by itself.
        let _ = self.connection.sender.send(message);
    }

    fn notified(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        // What cannot be read says nothing.
        self.guarded(|server| _ = server.take(&method, params));
    }

    fn take(&mut self, method: &str, params: Value) -> Option<()> {
        fn read<N: Named>(params: Value) -> Option<N::Params> {
            serde_json::from_value(params).ok() // Default: it says nothing.
        }
        match method {
            DidOpenTextDocument::METHOD => {
                let opened = read::<DidOpenTextDocument>(params)?.text_document;
                let key = opened.uri.as_str().to_owned();
                let document = Document::new(opened.uri, opened.version, opened.text);
                // What was told of it is told again.
                self.faulty.insert(key.clone());
                let path = document.path.clone();
                self.texts.set(&path, &document.text);
                self.documents.insert(key.clone(), document);
                self.retarget(&key, true);
                self.changed(&key, &path);
            }
            DidChangeTextDocument::METHOD => {
                let changed = read::<DidChangeTextDocument>(params)?;
                let key = changed.text_document.uri.as_str().to_owned();
                let document = self.documents.get_mut(&key)?;
                changed.content_changes.iter().for_each(|change| document.change(change));
                document.version = changed.text_document.version;
                let path = document.path.clone();
                self.texts.set(&path, &document.text);
                self.changed(&key, &path);
            }
            DidCloseTextDocument::METHOD => {
                let uri = read::<DidCloseTextDocument>(params)?.text_document.uri;
                let document = self.documents.remove(uri.as_str())?;
                self.dirty.remove(uri.as_str());
                self.faulty.remove(uri.as_str());
                self.texts.remove(&document.path);
                self.publish(uri, Vec::new(), None);
                self.changed("", &document.path);
            }
            DidSaveTextDocument::METHOD => {
                let key = read::<DidSaveTextDocument>(params)?.text_document.uri.as_str().to_owned();
                self.retarget(&key, true);
                self.dirty.insert(key);
            }
            DidChangeWatchedFiles::METHOD => self.all_changed(),
            _ => {}
        }
        Some(())
    }

    /// A text is another: so is what includes it.
    fn changed(&mut self, key: &str, path: &str) {
        // Those that still include it are found again when they are read again.
        for other in self.includers.remove(path).into_iter().flatten().filter(|other| other != key) {
            if let Some(document) = self.documents.get_mut(&other)
                && included(document).any(|name| name == path)
            {
                document.forget();
                self.dirty.insert(other);
            }
        }
        if !key.is_empty() {
            self.dirty.insert(key.to_owned());
        }
    }

    /// Files are others: instances may be, and what texts include.
    fn all_changed(&mut self) {
        self.instances.clear();
        let keys: Vec<String> = self.documents.keys().cloned().collect();
        for key in keys {
            if let Some(document) = self.documents.get_mut(&key) {
                document.forget();
                document.target = Target::Unknown;
                document.folder_target = None;
            }
            self.retarget(&key, true);
            self.dirty.insert(key);
        }
    }

    /// Finds what a text is for: what it says itself, else what its folder says, else what the server was told.
    fn retarget(&mut self, key: &str, looks_around: bool) {
        let Some(document) = self.documents.get_mut(key) else { return };
        if looks_around {
            document.folder_target =
                self.workshop.of_folder(&document.path).or_else(|| self.workshop.fallback());
        }
        document.is_changed = false;
        let named = text_target(document.plain()).map(|(_, spec)| spec.to_owned());
        let spec = named.or_else(|| document.folder_target.clone());
        let is_same = match (&document.target, &spec) {
            (Target::Unknown, None) => true,
            (Target::Wrong { spec: known, .. } | Target::Known(Known { spec: known, .. }), Some(spec)) => {
                known == spec
            }
            _ => false,
        };
        if is_same {
            return;
        }
        document.forget();
        document.target = match spec {
            None => Target::Unknown,
            Some(spec) => {
                let workshop = self.workshop;
                let found = self
                    .instances
                    .entry(spec.clone())
                    .or_insert_with(|| workshop.instance(&spec).map(Arc::from));
                match found {
                    Ok(instance) => {
                        let language = instance.language_of(&document.path).map(Arc::from);
                        Target::Known(Known { spec, instance: Arc::clone(instance), language })
                    }
                    Err(reason) => Target::Wrong { spec, reason: reason.clone() },
                }
            }
        };
    }

    /// Calls `with` a text and what is known of it.
    fn with<T>(&mut self, uri: &Uri, with: impl FnOnce(&Self, &Document, &Analysis) -> T) -> Option<T> {
        if self.documents.get(uri.as_str())?.is_changed {
            self.retarget(uri.as_str(), false);
        }
        let (key, mut document) = self.documents.remove_entry(uri.as_str())?;
        let is_read = document.known().is_some();
        // A defect of ours loses no text.
        let found = catch_unwind(AssertUnwindSafe(|| {
            let known = self.analysis(&mut document);
            with(self, &document, &known)
        }));
        if !is_read {
            for path in included(&document) {
                self.includers.entry(path.to_owned()).or_default().insert(key.clone());
            }
        }
        self.documents.insert(key, document);
        match found {
            Ok(found) => Some(found),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// All that is known of a text that is taken out of those that are open.
    fn analysis(&self, document: &mut Document) -> Arc<Analysis> {
        document.analysis(&|path| self.file(path))
    }

    /// A file that a text includes.
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        bytes_of(&self.open())(path)
    }

    /// Files, of which those that are open count as they are there.
    fn open(&self) -> Open<'a> {
        Open { texts: self.texts.clone(), files: self.workshop.files() }
    }

    /// Tells what is wrong with a text at once, and has the rest found.
    fn tell(&mut self, key: &str) {
        let Some(uri) = self.documents.get(key).map(|document| document.uri.clone()) else { return };
        let was_faulty = self.faulty.contains(key);
        let told = self.with(&uri, |_, document, known| {
            let is_whole = known.faults.is_empty() && document.language().is_some();
            // What the checks will say is not taken away before.
            let told = (!is_whole || was_faulty).then(|| diagnostics(document, known));
            (told, is_whole, document.version)
        });
        let Some((told, is_whole, version)) = told else { return };
        if let Some(told) = told {
            self.publish(uri, told, Some(version));
        }
        if is_whole {
            self.faulty.remove(key);
            self.check(key);
        } else {
            self.faulty.insert(key.to_owned());
        }
    }

    /// Has a text checked.
    fn check(&self, key: &str) {
        let Some(document) = self.documents.get(key) else { return };
        let Some(instance) = document.instance() else { return };
        let job = Job {
            uri: key.to_owned(),
            version: document.version,
            path: document.path.clone(),
            text: document.plain().into(),
            instance: Arc::clone(instance),
        };
        // Without the other thread nothing is checked; the server ends then.
        let _ = self.jobs.send(job);
    }

    /// Tells what was found, unless the text has changed since.
    fn checked(&mut self, key: &str, checked: Checked) {
        let Some(document) = self.documents.get_mut(key) else { return };
        if document.version != checked.version {
            return;
        }
        let has_cycles = !checked.cycles.is_empty();
        document.checked = Some(checked);
        let uri = document.uri.clone();
        let told = self.with(&uri, |_, document, known| (diagnostics(document, known), document.version));
        if let Some((told, version)) = told {
            self.publish(uri, told, Some(version));
        }
        if has_cycles && self.shown.cycle && self.refreshes_hints {
            self.sent += 1;
            let (id, method) = (RequestId::from(self.sent), InlayHintRefreshRequest::METHOD.to_owned());
            self.send(Request { id, method, params: Value::Null }.into());
        }
    }

    fn publish(&self, uri: Uri, diagnostics: Vec<lsp_types::Diagnostic>, version: Option<i32>) {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        self.send(Notification::new(PublishDiagnostics::METHOD.to_owned(), params).into());
    }
}

/// The paths of what a text includes, as it was read last.
fn included(document: &Document) -> impl Iterator<Item = &str> {
    document.known().into_iter().flat_map(|known| known.sources.texts().skip(1)).map(|(name, _)| name)
}
