//! Names of output files: the extension determines the format, so [`named`] rejects other formats
//! before anything is computed.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};

/// Extension of archives of arrays.
pub const ARRAYS: &[&str] = &["npz"];

/// Returns a parser of paths of files in the formats `endings`. A path without an extension is
/// accepted.
pub fn named(endings: &'static [&'static str]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| check(&path, endings).map(|()| path))
}

/// Rejects the name of a file of another format, with the reason and the legal names.
pub fn check(path: &Path, endings: &[&str]) -> Result<(), String> {
    let Some(ending) = path.extension() else { return Ok(()) };
    if endings.iter().any(|legal| ending.eq_ignore_ascii_case(legal)) {
        return Ok(());
    }
    let legal: Vec<String> = endings.iter().map(|legal| format!("`.{legal}`")).collect();
    // Default: no list is empty.
    let instead = path.with_extension(endings.first().copied().unwrap_or_default());
    Err(format!("this file is written as {} only: name it `{}`", legal.join(" or "), instead.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_name_says_what_the_file_holds() {
        for legal in ["r.npz", "a/r.NPZ", "r", "-", "-.npz", "/dev/stdout", ".hidden"] {
            assert_eq!(check(Path::new(legal), ARRAYS), Ok(()), "{legal}");
        }
        for other in ["r.csv", "r.npy", "r.npz.json", "-.png", "r."] {
            let error = check(Path::new(other), ARRAYS).unwrap_err();
            assert!(error.contains("`.npz`"), "{other}: {error}");
        }
        let either = check(Path::new("d/points.txt"), &["csv", "jsonl"]).unwrap_err();
        assert!(either.contains("`.csv` or `.jsonl` only") && either.contains("`d/points.csv`"), "{either}");
    }

    /// Every verb that writes a file of one format checks its name.
    #[test]
    fn verbs_refuse_names_of_other_files() {
        for line in [
            "npu run m.onnx -o r.csv",
            "npu run m.onnx --waves w.vcd",
            "npu eval m.onnx --output r.npy",
            "npu trace m.onnx -o r.json",
            "npu report m.onnx -o r.pdf",
            "npu explore m.onnx --space s.toml -o r.npz",
            "npu explore m.onnx --space s.toml --svg r.png",
            "npu explore m.onnx --space s.toml --html r.csv",
            "npu zoo mlp -o m.tflite",
        ] {
            let error = Cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
            assert!(error.to_string().contains("this file is written as"), "{line}: {error}");
        }
    }
}
