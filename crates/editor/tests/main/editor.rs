//! [`Editor`]: client of a server that runs in a second thread.

use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, Response};
use npukit_editor::lsp::{LspError, serve};
use serde_json::{Value, json};

use super::world::World;

/// Timeout of a response. It only ends a failing test and is not a measure of speed.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Editor {
    connection: Connection,
    server: Option<JoinHandle<Result<(), LspError>>>,
    next: i32,
    /// Received diagnostics in order: URI, version, diagnostics.
    pub published: Vec<(String, Option<i64>, Vec<Value>)>,
}

impl Editor {
    pub fn new(world: World) -> Self {
        let (client, server) = Connection::memory();
        let server = std::thread::spawn(move || serve(&server, &world));
        let mut editor = Self { connection: client, server: Some(server), next: 0, published: Vec::new() };
        let answer = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
        editor.say("initialized", json!({}));
        editor
    }

    /// Opens an editor with one text, and waits for all diagnostics.
    pub fn with(path: &str, text: &str) -> Self {
        let editor = Self::new(World::default());
        editor.open(path, text);
        editor
    }

    pub fn say(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).unwrap();
    }

    pub fn open(&self, path: &str, text: &str) {
        let document = json!({ "uri": uri(path), "languageId": "npu", "version": 1, "text": text });
        self.say("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Changes part of a text, or all of it.
    pub fn change(&self, path: &str, version: i64, range: Value, text: &str) {
        let change =
            if range.is_null() { json!({ "text": text }) } else { json!({ "range": range, "text": text }) };
        let params =
            json!({ "textDocument": { "uri": uri(path), "version": version }, "contentChanges": [change] });
        self.say("textDocument/didChange", params);
    }

    pub fn try_ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        let request = Request { id: id.into(), method: method.to_owned(), params };
        self.connection.sender.send(request.into()).unwrap();
        loop {
            match self.receive() {
                Message::Response(Response { id: of, result, error }) if of == id.into() => {
                    return match error {
                        Some(error) => Err(error.message),
                        None => Ok(result.unwrap_or_default()),
                    };
                }
                other => self.note(other),
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.try_ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Sends a request about a position in a text.
    pub fn at(&mut self, method: &str, path: &str, (line, character): (usize, usize)) -> Value {
        self.ask(method, question(method, path, &json!({ "line": line, "character": character })))
    }

    /// Sends a request about a text.
    pub fn about(&mut self, method: &str, path: &str) -> Value {
        let range =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99999, "character": 0 } });
        let options = json!({ "tabSize": 4, "insertSpaces": true });
        self.ask(method, json!({ "textDocument": { "uri": uri(path) }, "range": range, "options": options }))
    }

    fn receive(&self) -> Message {
        self.connection.receiver.recv_timeout(PATIENCE).unwrap()
    }

    fn note(&mut self, message: Message) {
        let Message::Notification(Notification { method, params }) = message else { return };
        if method == "textDocument/publishDiagnostics" {
            let all = params["diagnostics"].as_array().unwrap().clone();
            let name = params["uri"].as_str().unwrap().to_owned();
            self.published.push((name, params["version"].as_i64(), all));
        }
    }

    /// Waits for the next diagnostics of a text.
    pub fn next_diagnostics(&mut self, path: &str) -> Vec<Value> {
        let before = self.published.len();
        loop {
            let message = self.receive();
            self.note(message);
            if let Some((name, _, all)) = self.published.get(before..).and_then(<[_]>::last)
                && *name == uri(path)
            {
                return all.clone();
            }
        }
    }

    /// Waits for the next diagnostics of any text.
    pub fn next_any(&mut self) {
        let before = self.published.len();
        while self.published.len() == before {
            let message = self.receive();
            self.note(message);
        }
    }

    /// Waits for the complete diagnostics of a text; for a text without errors, those after the
    /// checks.
    pub fn all_diagnostics(&mut self, path: &str) -> Vec<Value> {
        let first = self.next_diagnostics(path);
        let is_wrong = first.iter().any(|one| one["severity"] == 1 || one["code"] == "no-target");
        if is_wrong { first } else { self.next_diagnostics(path) }
    }

    pub fn codes(&mut self, path: &str) -> Vec<String> {
        self.all_diagnostics(path).iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.ask("shutdown", Value::Null);
        self.say("exit", Value::Null);
        self.server.take().unwrap().join().unwrap().unwrap();
    }
}

/// Returns the parameters of a request about a position.
pub fn question(method: &str, path: &str, position: &Value) -> Value {
    let mut question = json!({ "textDocument": { "uri": uri(path) }, "position": position });
    if method == "textDocument/references" {
        question["context"] = json!({ "includeDeclaration": true });
    }
    question
}

pub fn uri(path: &str) -> String {
    format!("file:///w/{path}")
}

/// Returns the position of `what` in a text: line and UTF-16 unit.
pub fn place(text: &str, what: &str) -> (usize, usize) {
    let at = text.find(what).unwrap_or_else(|| panic!("`{what}` is not in the text"));
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap();
    (before.matches('\n').count(), line.encode_utf16().count())
}

/// Applies edits to a text.
pub fn edited(text: &str, edits: &Value) -> String {
    let mut all: Vec<(usize, usize, String)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let at = |end: &str| {
                let place = &edit["range"][end];
                let line = place["line"].as_u64().unwrap() as usize;
                let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                let mut left = place["character"].as_u64().unwrap() as usize;
                let rest = text[start..].chars().take_while(|letter| {
                    let goes = left >= letter.len_utf16() && *letter != '\n';
                    left = left.saturating_sub(letter.len_utf16());
                    goes
                });
                start + rest.map(char::len_utf8).sum::<usize>()
            };
            (at("start"), at("end"), edit["newText"].as_str().unwrap().to_owned())
        })
        .collect();
    all.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
    let mut found = text.to_owned();
    for (start, end, new) in all {
        found.replace_range(start..end, &new);
    }
    found
}
