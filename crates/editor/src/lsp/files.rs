//! [`Open`]: files as editors have them, which count more than those on the disk; and how their names are written.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use lsp_types::Uri;
use npukit_target::{ReadError, Reader};

/// Texts that are open, by their paths, each as it is now: whoever has a copy sees the same ones.
#[derive(Clone, Default)]
pub struct Texts(Arc<RwLock<BTreeMap<String, Arc<str>>>>);

impl Texts {
    /// The text at `path` is this one.
    pub fn set(&self, path: &str, text: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_owned(), text.into());
    }

    /// The text at `path` is not open any more.
    pub fn remove(&self, path: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    fn get(&self, path: &str) -> Option<Arc<str>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}

/// Texts that are open before all other files.
pub struct Open<'a> {
    /// The texts.
    pub texts: Texts,
    /// All other files.
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

/// What stands before the path of a file.
const FILE: &str = "file://";

/// The path of a file by its name in the protocol; what is no file keeps its name.
pub fn path_of(uri: &Uri) -> String {
    let Some(rest) = uri.as_str().strip_prefix(FILE) else { return uri.as_str().to_owned() };
    // What is before the path is a host, of which there is none.
    let path = rest.find('/').and_then(|start| rest.get(start..)).unwrap_or(rest);
    let decoded = decoded(path);
    // `/C:/folder` is of a drive.
    let is_drive = decoded.as_bytes().get(2) == Some(&b':') && decoded.starts_with('/');
    let path = if is_drive { decoded.get(1..) } else { None };
    path.map_or(decoded.clone(), str::to_owned)
}

/// The name in the protocol of a path; none for one that has none.
pub fn uri_of(path: &str) -> Option<Uri> {
    if path.contains("://") {
        return Uri::from_str(path).ok(); // Default: no name, no place.
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
    Uri::from_str(&text).ok() // Default: no name, no place.
}

/// A text with its `%41` read.
fn decoded(text: &str) -> String {
    let (bytes, mut found, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let pair = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) => {
                found.push(value);
                at += 3;
            }
            None => {
                found.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&found).into_owned()
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
        assert_eq!(decoded("%é%4"), "%é%4");
    }
}
