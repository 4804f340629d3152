//! [`Open`]: files as seen by an editor, with open texts before files on disk; and conversions
//! between paths and URIs.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use lsp_types::Uri;
use npukit_base::percent_decoded;
use npukit_target::{ReadError, Reader};

/// Current contents of the open texts by path. Clones share the contents.
#[derive(Clone, Default)]
pub struct Texts(Arc<RwLock<BTreeMap<String, Arc<str>>>>);

impl Texts {
    /// Stores the current text of `path`.
    pub fn set(&self, path: &str, text: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_owned(), text.into());
    }

    /// Removes the text of `path` after it is closed.
    pub fn remove(&self, path: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    fn get(&self, path: &str) -> Option<Arc<str>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

/// File reader that prefers open texts.
pub struct Open<'a> {
    /// Open texts.
    pub texts: Texts,
    /// Reader of all other files.
    pub files: &'a dyn Reader,
}

impl Reader for Open<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.texts.get(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => self.files.read(path),
        }
    }
}

/// Scheme of file URIs.
const FILE: &str = "file://";

/// Returns the path of a file URI; other URIs are returned unchanged.
pub fn path_of(uri: &Uri) -> String {
    let Some(rest) = uri.as_str().strip_prefix(FILE) else { return uri.as_str().to_owned() };
    // The part before the path is a host, which is ignored.
    let path = rest.find('/').and_then(|start| rest.get(start..)).unwrap_or(rest);
    let decoded = percent_decoded(path);
    // The path `/C:/folder` begins with a drive.
    let is_drive = decoded.as_bytes().get(2) == Some(&b':') && decoded.starts_with('/');
    let path = if is_drive { decoded.get(1..) } else { None };
    path.map_or(decoded.clone(), str::to_owned)
}

/// Returns the URI of a path, or `None` if it has none.
pub fn uri_of(path: &str) -> Option<Uri> {
    if path.contains("://") {
        return Uri::from_str(path).ok(); // Default: no URI.
    }
    let path = path.replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~' | b':');
    let mut text = format!("{FILE}{slash}");
    for byte in path.bytes() {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    Uri::from_str(&text).ok() // Default: no URI.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_go_both_ways() {
        for (uri, path) in [
            ("file:///a/b%20c/%C3%A9.s", "/a/b c/é.s"),
            ("file:///C:/x.s", "C:/x.s"),
            ("untitled:a", "untitled:a"),
        ] {
            let found = Uri::from_str(uri).map(|uri| path_of(&uri));
            assert_eq!(found.ok().as_deref(), Some(path));
        }
        for path in ["/a/b c/é#?.s", "C:/x.s"] {
            assert_eq!(uri_of(path).map(|uri| path_of(&uri)).as_deref(), Some(path));
        }
    }
}
