//! Unused dependencies: a declared crate must be named in the sources for which it is declared.

use super::manifests::{dependency_lines, name};
use super::{Problem, SourceFile};

/// Folder outside the workspace, with a different layout.
const FUZZ_FOLDER: &str = "fuzz/";

/// Checks the manifests of the members. A comment on a line is the reason for an unnamed
/// dependency.
pub fn check(files: &[SourceFile]) -> Vec<Problem> {
    let manifests = files.iter().filter_map(|file| Some((file, file.path.strip_suffix("Cargo.toml")?)));
    manifests
        .filter(|(_, folder)| !["", FUZZ_FOLDER].contains(folder))
        .flat_map(|(manifest, folder)| unused(manifest, folder, files))
        .collect()
}

/// Unused dependencies in the manifest of a folder.
fn unused(manifest: &SourceFile, folder: &str, files: &[SourceFile]) -> Vec<Problem> {
    let problem = |(index, section, line): (usize, &str, &str)| {
        let name = name(line);
        let place = if section == "dev-dependencies" { folder.to_owned() } else { format!("{folder}src/") };
        let is_fine = line.contains('#') || is_named(files, &place, name);
        let message = format!("`{name}` is not used: remove the line");
        (!is_fine).then(|| Problem::at_line(&manifest.path, index, message))
    };
    dependency_lines(&manifest.text).filter_map(problem).collect()
}

/// Whether a Rust file below `folder` names the crate.
fn is_named(files: &[SourceFile], folder: &str, name: &str) -> bool {
    let name = name.replace('-', "_");
    let ours = files.iter().filter(|file| file.path.starts_with(folder) && file.path.ends_with(".rs"));
    ours.flat_map(|file| file.text.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_names_is_found() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let manifest = "[dependencies]\na-b.workspace = true\nc.workspace = true\nd.workspace = true # its features\n\
                        [dev-dependencies]\ne.workspace = true\nf.workspace = true\n";
        let files = [
            file("crates/x/Cargo.toml", manifest),
            file("crates/x/src/lib.rs", "use a_b::C;"),
            file("crates/x/tests/main.rs", "fn c() { e::f_g() }"),
            file("crates/y/src/lib.rs", "use c::D; use f::G;"),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "crates/x/Cargo.toml:3: `c` is not used: remove the line",
                "crates/x/Cargo.toml:7: `f` is not used: remove the line"
            ]
        );
    }
}
