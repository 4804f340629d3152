//! [`serve`]: receives messages, stores the texts, and answers.

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

/// Error that ends the server early.
#[derive(Debug, thiserror::Error)]
pub enum LspError {
    /// The editor violates the protocol.
    #[error("the editor violates the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// A message has an invalid frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame does not contain a valid message.
    #[error("a message is not valid in the protocol: {0}")]
    Message(serde_json::Error),
    /// The editor disconnected before `initialize`.
    #[error("the editor disconnected before `initialize`, which begins a session")]
    Gone,
    /// The parameters of `initialize` cannot be read.
    #[error("the parameters of `initialize` are invalid: {0}")]
    Initialize(#[from] serde_json::Error),
    /// Reading or writing failed.
    #[error("reading or writing failed: {0}")]
    Stream(#[from] std::io::Error),
}

/// Serves an editor on standard input and output until the session ends.
///
/// # Errors
/// [`LspError`] if the editor disconnects unexpectedly or violates the protocol.
pub fn stdio(workshop: &dyn Workshop) -> Result<(), LspError> {
    let (connection, streams) = streams::stdio()?;
    let served = serve(&connection, workshop);
    drop(connection);
    streams.end(served)
}

/// Serves an editor on a connection until the session ends.
///
/// # Errors
/// The errors of [`stdio`], without errors of its streams.
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

/// Converts the error of a session that did not begin.
fn gone(error: ProtocolError) -> LspError {
    if error.channel_is_disconnected() { LspError::Gone } else { error.into() }
}

/// Time without changes before diagnostics are sent.
const PAUSE: Duration = Duration::from_millis(25);

struct Server<'a> {
    connection: &'a Connection,
    workshop: &'a dyn Workshop,
    jobs: Sender<Job>,
    /// Open documents by URI.
    documents: BTreeMap<String, Document>,
    /// Contents of the open documents by path.
    texts: Texts,
    /// For each path, the URIs of texts that include it.
    includers: HashMap<String, BTreeSet<String>>,
    /// Instances by name, or the reason why one does not exist.
    instances: HashMap<String, Result<Arc<dyn Instance>, String>>,
    /// URIs of texts whose diagnostics must be sent.
    dirty: BTreeSet<String>,
    /// URIs of texts whose last diagnostics were not empty.
    faulty: BTreeSet<String>,
    shown: Shown,
    /// Whether the editor refreshes hints on request.
    refreshes_hints: bool,
    /// Number of requests sent to the editor.
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
            // Default: not supported unless declared.
            refreshes_hints: hints.and_then(|of| of.refresh_support).unwrap_or(false),
            sent: 0,
        }
    }

    fn run(mut self, found: &Receiver<(String, Checked)>) -> Result<(), LspError> {
        let mut found = found.clone();
        let mut quiet_from = Instant::now();
        loop {
            // While the user types, diagnostics would be outdated when sent.
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
                    // The content of a response is not needed.
                    Ok(Message::Response(_)) => {}
                    Err(_) => return Ok(()),
                },
                recv(found) -> checked => match checked {
                    Ok((uri, checked)) => self.guarded(|server| server.checked(&uri, checked)),
                    // Without the other thread, no more results arrive.
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

    /// Runs work that has no response. A panic leaves the work undone, but does not end the
    /// session.
    fn guarded(&mut self, does: impl FnOnce(&mut Self)) {
        // The panic was reported on standard error.
        let _ = catch_unwind(AssertUnwindSafe(|| does(self)));
    }

    fn request(&mut self, Request { id, method, params }: Request) {
        // A panic ends one response, not the session.
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
        // If the editor is gone, the loop ends by itself.
        let _ = self.connection.sender.send(message);
    }

    fn notified(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        // Notifications that cannot be read are ignored.
        self.guarded(|server| _ = server.take(&method, params));
    }

    fn take(&mut self, method: &str, params: Value) -> Option<()> {
        fn read<N: Named>(params: Value) -> Option<N::Params> {
            serde_json::from_value(params).ok() // Default: ignored.
        }
        match method {
            DidOpenTextDocument::METHOD => {
                let opened = read::<DidOpenTextDocument>(params)?.text_document;
                let key = opened.uri.as_str().to_owned();
                let document = Document::new(opened.uri, opened.version, opened.text);
                // The diagnostics must be sent again.
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

    /// Marks a text and all texts that include it as changed.
    fn changed(&mut self, key: &str, path: &str) {
        // Texts that still include it are added again by their next analysis.
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

    /// Handles changed files: instances and included texts may be different.
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

    /// Finds the target of a text: from the text itself, otherwise its folder, otherwise the
    /// server's default.
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

    /// Calls `with` on a text and its analysis.
    fn with<T>(&mut self, uri: &Uri, with: impl FnOnce(&Self, &Document, &Analysis) -> T) -> Option<T> {
        if self.documents.get(uri.as_str())?.is_changed {
            self.retarget(uri.as_str(), false);
        }
        let (key, mut document) = self.documents.remove_entry(uri.as_str())?;
        let is_read = document.known().is_some();
        // A panic must not lose the text.
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

    /// Returns the analysis of a text that was taken out of the open documents.
    fn analysis(&self, document: &mut Document) -> Arc<Analysis> {
        document.analysis(&|path| self.file(path))
    }

    /// Reads a file that a text includes.
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        bytes_of(&self.open())(path)
    }

    /// Returns the file reader, which prefers open texts.
    fn open(&self) -> Open<'a> {
        Open { texts: self.texts.clone(), files: self.workshop.files() }
    }

    /// Sends the known diagnostics of a text, and starts the slow checks.
    fn tell(&mut self, key: &str) {
        let Some(uri) = self.documents.get(key).map(|document| document.uri.clone()) else { return };
        let was_faulty = self.faulty.contains(key);
        let published = self.with(&uri, |_, document, known| {
            let is_whole = known.faults.is_empty() && document.language().is_some();
            // Earlier results of the slow checks stay until new ones arrive.
            let published = (!is_whole || was_faulty).then(|| diagnostics(document, known));
            (published, is_whole, document.version)
        });
        let Some((published, is_whole, version)) = published else { return };
        if let Some(published) = published {
            self.publish(uri, published, Some(version));
        }
        if is_whole {
            self.faulty.remove(key);
            self.check(key);
        } else {
            self.faulty.insert(key.to_owned());
        }
    }

    /// Starts the slow checks of a text.
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
        // Without the other thread nothing is checked, and the server ends.
        let _ = self.jobs.send(job);
    }

    /// Sends the results of the slow checks, unless the text has changed in the meantime.
    fn checked(&mut self, key: &str, checked: Checked) {
        let Some(document) = self.documents.get_mut(key) else { return };
        if document.version != checked.version {
            return;
        }
        let has_cycles = !checked.cycles.is_empty();
        document.checked = Some(checked);
        let uri = document.uri.clone();
        let published =
            self.with(&uri, |_, document, known| (diagnostics(document, known), document.version));
        if let Some((published, version)) = published {
            self.publish(uri, published, Some(version));
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

/// Returns the paths that a text includes, according to its last analysis.
fn included(document: &Document) -> impl Iterator<Item = &str> {
    document.known().into_iter().flat_map(|known| known.sources.texts().skip(1)).map(|(name, _)| name)
}
