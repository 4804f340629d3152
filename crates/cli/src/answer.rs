//! [`Answer`]: what a command prints, for people and for programs.

use npukit::report::PhaseTime;
use serde::Serialize;
use serde_json::{Value, json};

/// What a command prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For people; ends in a newline.
    pub text: String,
    /// For people, on standard error: what stands beside the answer.
    pub notes: String,
    /// Whether the text is a file's content rather than an answer.
    pub is_data: bool,
    /// For `--json`.
    pub json: Value,
    /// Whether the exit status is 0.
    pub success: bool,
}

impl Answer {
    /// A report and how people read it.
    pub fn new(text: String, report: &impl Serialize) -> Self {
        // Reports are maps of strings to numbers, texts and lists: they always serialise.
        let json = serde_json::to_value(report).unwrap_or_else(|error| {
            debug_assert!(false, "{error}");
            json!({ "error": error.to_string() })
        });
        Self { text, notes: String::new(), is_data: false, json, success: true }
    }

    /// The same, with notes.
    pub fn with_notes(self, notes: String) -> Self {
        Self { notes, ..self }
    }

    /// The same, with the content of a file as its text.
    pub fn with_data(self, is_data: bool) -> Self {
        Self { is_data, ..self }
    }

    /// The same, with how long its phases took.
    pub fn with_timings(mut self, text: &str, timings: &[PhaseTime]) -> Self {
        self.text += text;
        if let Some(fields) = self.json.as_object_mut() {
            fields.insert("timings".to_owned(), json!(timings));
        }
        self
    }

    /// The same, unsuccessful unless `success`.
    pub fn with_success(self, success: bool) -> Self {
        Self { success, ..self }
    }
}
