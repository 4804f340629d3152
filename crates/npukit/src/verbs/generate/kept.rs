//! [`KeptFile`]: a text with its keys and values in a file, and all on which these depend.

use npukit_import::llm::chat_template::Message;
use npukit_target::{ReadError, Reader, sha256};
use serde::{Deserialize, Serialize};

use super::Request;
use super::language::Language;
use crate::error::Error;
use crate::targets::resolve;

/// First line of a file, with the version of its form.
const BEGIN: &[u8] = b"npukit kept text 1\n";

/// Begin of the first line in all versions.
const ANY: &[u8] = b"npukit kept text ";

/// Reason why a file cannot be read.
const DAMAGED: &str = "is damaged";

/// Text from a file.
pub(super) struct Kept {
    path: String,
    /// Tokens of the text.
    pub(super) tokens: Vec<usize>,
    /// Their keys and values, in the form of the machine.
    pub(super) content: Vec<u8>,
    /// Messages of the conversation; empty for another text.
    pub(super) messages: Vec<Message>,
}

/// File of a kept text.
pub(super) struct KeptFile {
    path: String,
    /// Hash of the model, the machine and its options.
    origin: String,
}

/// Second line of a file. The keys and values follow it.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Hash of all on which the keys and values depend.
    origin: String,
    /// Hash of the keys and values.
    content: String,
    /// Tokens of the text.
    tokens: Vec<usize>,
    /// Messages of the conversation; missing for another text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Message>,
}

impl KeptFile {
    /// Returns the file of a request; `None` without one.
    ///
    /// # Errors
    ///
    /// [`Error::Inapplicable`] for a model whose keys and values cannot be kept; the errors of
    /// reading files.
    pub(super) fn of(
        language: &Language,
        request: &Request,
        reader: &dyn Reader,
    ) -> Result<Option<Self>, Error> {
        let Some(path) = &request.keep else { return Ok(None) };
        let mut all = language.digest()?.to_vec();
        if let Some(target) = &request.target {
            let instance = resolve(target, reader)?;
            let info = instance.info();
            all.extend(format!("{} {} {:?}", info.name, info.config, request.options).as_bytes());
        }
        if let Some(path) = &request.calibrate {
            all.extend(reader.read(path)?);
        }
        Ok(Some(Self { path: path.clone(), origin: sha256(&all) }))
    }

    /// Returns the content of the file for tokens with their keys and values, and for the messages
    /// of a conversation.
    pub(super) fn write(&self, tokens: &[usize], content: &[u8], messages: &[Message]) -> Vec<u8> {
        let head = Head {
            origin: self.origin.clone(),
            content: sha256(content),
            tokens: tokens.to_vec(),
            messages: messages.to_vec(),
        };
        let head = serde_json::to_string(&head).expect("texts and numbers always serialize");
        [BEGIN, head.as_bytes(), b"\n", content].concat()
    }

    /// Reads the file; returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::KeptText`] for a file of another kind or another origin, and for a damaged one.
    pub(super) fn read(&self, reader: &dyn Reader) -> Result<Option<Kept>, Error> {
        let wrong = |reason| Error::KeptText { path: self.path.clone(), reason };
        let bytes = match reader.read(&self.path) {
            Err(ReadError::Absent { .. }) => return Ok(None),
            bytes => bytes?,
        };
        let is_other = bytes.starts_with(ANY);
        let foreign = if is_other { "was kept by another version of npukit" } else { "is not a kept text" };
        let rest = bytes.strip_prefix(BEGIN).ok_or_else(|| wrong(foreign))?;
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| wrong(DAMAGED))?;
        let (head, content) = (&rest[..end], &rest[end + 1..]);
        let head: Head = serde_json::from_slice(head).map_err(|_| wrong(DAMAGED))?;
        if head.origin != self.origin {
            return Err(wrong("was kept for another model, target or option"));
        }
        if head.content != sha256(content) {
            return Err(wrong(DAMAGED));
        }
        let Head { tokens, messages, .. } = head;
        Ok(Some(Kept { path: self.path.clone(), tokens, content: content.to_vec(), messages }))
    }
}

impl Kept {
    /// Returns the error for keys and values that do not fit the model.
    pub(super) fn damaged(&self) -> Error {
        Error::KeptText { path: self.path.clone(), reason: DAMAGED }
    }
}
