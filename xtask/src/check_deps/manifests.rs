//! Rules of the manifests: versions live at the root, and each third party says what it saves us.

use super::{Problem, SourceFile};

/// Checks the root manifest and those of the members.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let manifest = |file: &&SourceFile| file.path.rsplit('/').next() == Some("Cargo.toml");
    files.iter().filter(manifest).flat_map(check_manifest).collect()
}

fn check_manifest(file: &SourceFile) -> Vec<Problem> {
    dependency_lines(&file.text)
        .filter_map(|(index, section, line)| {
            let message = if section == "workspace.dependencies" { root(line) } else { member(line) };
            message.map(|message| Problem::at_line(&file.path, index, message))
        })
        .collect()
}

/// The lines that declare a dependency: index, name of the section, text.
pub fn dependency_lines(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut section = "";
    text.lines().enumerate().filter_map(move |(index, line)| {
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or_default();
            return None;
        }
        let declares = section.ends_with("dependencies") && line.starts_with(|c: char| c.is_alphanumeric());
        declares.then_some((index, section, line))
    })
}

/// A line of the root: ours by path, or a third party with a sentence on what it saves.
fn root(line: &str) -> Option<String> {
    let (declaration, comment) = line.split_once('#').unwrap_or((line, ""));
    let fine = declaration.contains("path =") || comment.trim().len() > 3;
    (!fine).then(|| format!("`{}` needs a comment on what it saves", name(line)))
}

/// A line of a member: its version comes from the root. A target is named by its folder: who knows of targets
/// lists them, and nobody else does.
fn member(line: &str) -> Option<String> {
    let fine = line.contains("workspace = true") || line.contains(TARGET);
    (!fine).then(|| format!("`{}` takes its version from the root: `workspace = true`", name(line)))
}

/// How a dependency on a target begins.
const TARGET: &str = "{ path = \"../../targets/";

/// The crate that a line declares.
pub fn name(line: &str) -> &str {
    line.split(['=', '.', ' ']).next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let file = SourceFile { path: "Cargo.toml".to_owned(), text: text.to_owned() };
        check(&[file]).into_iter().map(|p| p.to_string()).collect()
    }

    #[test]
    fn third_parties_say_what_they_save() {
        let text =
            "[workspace.dependencies]\nours = { path = \"x\" }\nserde = \"1\" # reads JSON\nregex = \"1\"\n";
        assert_eq!(messages(text), ["Cargo.toml:4: `regex` needs a comment on what it saves"]);
    }

    #[test]
    fn members_take_versions_from_the_root() {
        let text = "[dependencies]\nserde.workspace = true\nmiette = { workspace = true }\n\n[dev-dependencies]\nrand = \"0.9\"\n";
        assert_eq!(
            messages(text),
            ["Cargo.toml:6: `rand` takes its version from the root: `workspace = true`"]
        );
        let targets =
            "[dependencies]\nnpukit-tcu = { path = \"../../targets/tcu\" }\nx = { path = \"../x\" }\n";
        assert_eq!(
            messages(targets),
            ["Cargo.toml:3: `x` takes its version from the root: `workspace = true`"]
        );
    }

    #[test]
    fn other_sections_are_left_alone() {
        assert_eq!(messages("[package]\nname = \"x\"\n[features]\ndefault = []\n"), [""; 0]);
    }
}
