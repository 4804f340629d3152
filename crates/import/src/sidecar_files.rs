//! Files next to a model: [`ReadFile`] and [`ReadRange`], and checks that paths stay in its folder.

use std::ops::Range;

/// Reads a file next to the model. The error gives the reason of a failure. The path is relative to
/// the model's folder and does not leave it: names joined by `/`, without `..`.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// Part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The requested bytes, without those beyond the end of the file.
    pub bytes: Vec<u8>,
    /// Size of the whole file in bytes.
    pub file_bytes: u64,
}

/// Reads a byte range of a file next to the model.
pub type ReadRange<'a> = dyn Fn(&str, Range<u64>) -> Result<Part, String> + Sync + 'a;

/// Returns the path as plain names joined by `/`, or `None` if it is absolute, empty or leaves the
/// folder. Separators of all systems are recognized (also `\`), so that a file is equally safe on
/// all systems.
pub(crate) fn inside(location: &str) -> Option<String> {
    let names: Vec<&str> = location.split(['/', '\\']).filter(|name| *name != ".").collect();
    let plain = |name: &&str| !name.is_empty() && *name != ".." && !name.contains([':', '\0']);
    (!names.is_empty() && names.iter().all(plain)).then(|| names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn paths_stay_in_the_folder() {
        for (path, clean) in [
            ("w.bin", "w.bin"),
            ("./a/./b.bin", "a/b.bin"),
            ("a..b", "a..b"),
            ("a\\b.bin", "a/b.bin"),
            (".\\a/.\\b.bin", "a/b.bin"),
        ] {
            assert_eq!(inside(path).as_deref(), Some(clean));
        }
        for path in [
            "",
            ".",
            "..",
            "../w",
            "a/../../w",
            "a/..",
            "/etc/passwd",
            "a//b",
            "C:\\w",
            "C:w",
            "a\\..\\w",
            "\\\\host\\w",
            "..\\w",
            "a\\..\\..\\w",
            "\\w",
            "a/..\\w",
            "w\0",
        ] {
            assert_eq!(inside(path), None, "{path:?}");
        }
    }
}
