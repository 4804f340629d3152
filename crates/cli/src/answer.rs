//! [`Answer`]: the output of a command, as text and as JSON.

use npukit::report::PhaseTime;
use serde::Serialize;
use serde_json::{Value, json};

/// Output of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Text of the answer; ends in a newline.
    pub text: String,
    /// Notes for standard error, in addition to the answer.
    pub notes: String,
    /// Whether the text is the contents of a file rather than an answer.
    pub is_data: bool,
    /// Report for `--json`.
    pub json: Value,
    /// Whether the exit status is 0.
    pub success: bool,
}

impl Answer {
    /// Creates an answer from a report and its text.
    pub fn new(text: String, report: &impl Serialize) -> Self {
        // Reports are maps of strings to numbers, texts and lists: they can always be serialized.
        let json = serde_json::to_value(report).unwrap_or_else(|error| {
            debug_assert!(false, "{error}");
            json!({ "error": error.to_string() })
        });
        Self { text, notes: String::new(), is_data: false, json, success: true }
    }

    /// Returns the answer with notes.
    pub fn with_notes(self, notes: String) -> Self {
        Self { notes, ..self }
    }

    /// Returns the answer with its text marked as the contents of a file, or not.
    pub fn with_data(self, is_data: bool) -> Self {
        Self { is_data, ..self }
    }

    /// Returns the answer with the times of its phases.
    pub fn with_timings(mut self, text: &str, timings: &[PhaseTime]) -> Self {
        self.text += text;
        if let Some(fields) = self.json.as_object_mut() {
            fields.insert("timings".to_owned(), json!(timings));
        }
        self
    }

    /// Returns the answer, unsuccessful unless `success`.
    pub fn with_success(self, success: bool) -> Self {
        Self { success, ..self }
    }
}
