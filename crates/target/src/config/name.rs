//! Names of artifacts: [`artifact_stem`] of a model for an instance.

use crate::files::hash::sha256;

/// Maximum number of characters of a stem. With any extension of npukit, the name stays below the
/// 255 bytes of file systems and the 256 characters that C drivers accept.
const MOST: usize = 200;
/// Hexadecimal digits of the hash that is appended to a changed name.
const DIGITS: usize = 8;

/// Returns the file name, without extension, of the artifact of a model for an instance, for
/// example `digits_onnx_reference`.
///
/// `model` is the model's file name. Its ASCII letters, digits and spaces are kept; other
/// characters become `_`. This is the rule of the first target's own compiler, except for `:` and
/// white space other than spaces, which some file systems reject. In the instance name `+` and `-`
/// are kept too. If a name is too long or not ASCII, a hash of both names is appended, so that
/// different models keep different names.
///
/// ```
/// # use npukit_target::artifact_stem;
/// assert_eq!(artifact_stem("resnet20v2_cifar.onnx", "pynqz1"), "resnet20v2_cifar_onnx_pynqz1");
/// assert_eq!(artifact_stem("out/net.v2.onnx", "3x1+ext"), "net_v2_onnx_3x1+ext");
/// ```
pub fn artifact_stem(model: &str, instance: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == ' ' { c } else { '_' };
    let model = file_name(model);
    let first: String = model.chars().map(plain).collect();
    let second: String =
        instance.chars().map(|c| if matches!(c, '+' | '-') { c } else { plain(c) }).collect();
    let stem = format!("{first}_{second}");
    let is_lossy = !model.chars().chain(instance.chars()).all(|c| c.is_ascii() && !c.is_ascii_control());
    if !is_lossy && stem.len() <= MOST {
        return stem;
    }
    let hash = hash(&format!("{model}\0{instance}"));
    let kept: String = stem.chars().take(MOST - DIGITS - 1).collect();
    format!("{kept}_{hash}")
}

/// Returns the name of an instance that comes from a file: the file name without its extension.
///
/// ```
/// # use npukit_target::instance_name;
/// assert_eq!(instance_name("boards/mine.v2.tarch"), "mine.v2");
/// ```
pub fn instance_name(path: &str) -> &str {
    without_ending(file_name(path))
}

/// Returns a file name without its last dot and what follows.
fn without_ending(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Returns the last component of a path.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn hash(text: &str) -> String {
    sha256(text.as_bytes())[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_instances_have_names_of_their_own() {
        let names = [
            ("net.onnx", "ideal"),
            ("net.onnx", "reference"),
            ("net.pb", "reference"),
            ("net.v1.onnx", "reference"),
            ("net.v2.onnx", "reference"),
            ("\u{e9}.onnx", "reference"),
            ("\u{e8}.onnx", "reference"),
        ];
        let stems: std::collections::BTreeSet<String> =
            names.iter().map(|(model, instance)| artifact_stem(model, instance)).collect();
        assert_eq!(stems.len(), names.len());
    }

    #[test]
    fn names_are_safe() {
        let long = "n".repeat(5000);
        for model in ["../../x", "..", "", "a\u{1b}[2J.onnx", "a\nb", "C:\\x.onnx", "\u{202e}x", &long] {
            let stem = artifact_stem(model, "1x1:[swb,rf]");
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '+' | '-');
            assert!(stem.chars().all(plain) && stem.len() <= MOST, "{stem}");
        }
    }
}
