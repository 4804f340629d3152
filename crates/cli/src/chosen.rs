//! Names of outputs that the command line does not give: in the current folder, after the source
//! and the target.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Returns the name of a source without its folder and extension. Standard input is `program`.
pub fn stem(source: &str) -> String {
    let path = Path::new(source);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != "-").unwrap_or_else(|| "program".to_owned()) // Default: it has no name.
}

/// Returns the name for results of `source` on a target, such as `digits_npu_board`. An artifact
/// has its target in its own name.
pub fn of_target(source: &str, target: Option<&str>) -> String {
    let stem = stem(source);
    target.map_or_else(|| stem.clone(), |target| format!("{stem}_{}", plain(target)))
}

/// Returns a target as part of a file name: `npu:boards/my.toml@slow` is `npu_my_toml_slow`.
pub fn plain(target: &str) -> String {
    let (name, instance) = target.split_once(':').unwrap_or((target, ""));
    let instance = instance.rsplit(['/', '\\']).next().unwrap_or(instance);
    let whole = if instance.is_empty() { name.to_owned() } else { format!("{name}_{instance}") };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-');
    whole.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Returns the output of the command line, or the chosen file if it does not exist or `is_ours`.
///
/// Errors: [`Failure::Foreign`].
pub fn file(
    given: Option<&PathBuf>,
    chosen: String,
    is_ours: impl Fn(&[u8]) -> bool,
) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    match fs::read(&chosen) {
        Ok(bytes) if !is_ours(&bytes) => Err(Failure::Foreign { path: chosen }),
        // A file that cannot be read is reported when it is written.
        _ => Ok(chosen.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_source_and_target() {
        assert_eq!(of_target("a/digits.onnx", Some("npu:board")), "digits_npu_board");
        let own = of_target("m.onnx", Some("npu:boards/my.toml@slow,array_size=8"));
        assert_eq!(own, "m_npu_my_toml_slow_array_size_8");
        assert_eq!(of_target("out/m_onnx_pynqz1.tmodel", None), "m_onnx_pynqz1");
        assert_eq!((stem("-"), plain("npu")), ("program".to_owned(), "npu".to_owned()));
        assert_eq!(plain("npu:3x1+ext"), "npu_3x1+ext");
    }
}
