//! Rules of manifests: versions are only in the root manifest, with a comment per third-party crate
//! that explains what it saves us.

use super::{Problem, SourceFile};

/// Checks the root manifest and the manifests of the members.
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

/// Lines that declare a dependency: index, section name, text.
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

/// Checks a line of the root manifest: a path to our crate, or a third-party crate with a comment
/// on what it saves.
fn root(line: &str) -> Option<String> {
    let (declaration, comment) = line.split_once('#').unwrap_or((line, ""));
    let fine = declaration.contains("path =") || comment.trim().len() > 3;
    (!fine).then(|| format!("`{}` needs a comment on what it saves", name(line)))
}

/// Checks a line of a member: its version must come from the root. A target is named by its folder,
/// and only the crates that list targets may do so.
fn member(line: &str) -> Option<String> {
    let fine = line.contains("workspace = true") || line.contains(TARGET);
    (!fine).then(|| format!("`{}` takes its version from the root: `workspace = true`", name(line)))
}

/// Start of a dependency on a target.
const TARGET: &str = "{ path = \"../../targets/";

/// Name of the crate that a line declares.
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
