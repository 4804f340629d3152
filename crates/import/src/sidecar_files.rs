//! Files beside a model: [`ReadFile`] and [`ReadRange`], and paths that stay in its folder.

use std::ops::Range;

/// Gives the bytes of a file beside the model, or says why it cannot. The path is relative to the
/// model's folder and does not leave it: names joined by `/`, none of them `..`.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'a;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The bytes asked for, as far as the file has them.
    pub bytes: Vec<u8>,
    /// How many the whole file has.
    pub file_bytes: u64,
}

/// The bytes in a range of a file beside the model.
pub type ReadRange<'a> = dyn Fn(&str, Range<u64>) -> Result<Part, String> + 'a;

/// The path in plain names joined by `/`; `None` when it is absolute, empty or leaves the folder.
/// Paths of every system are understood, so that no file is safe on one and unsafe on another: `\` separates names, too.
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
