//! Dependencies between our crates, as reported by cargo: a list of [`Edge`]s.

use serde::Deserialize;

use crate::Error;
use crate::cargo::cargo;

/// Kind of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Linked into the crate.
    Normal,
    /// Needed by its tests and benches only.
    Dev,
    /// Needed by its build script.
    Build,
}

/// A dependency between two of our crates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Package name of the dependent crate.
    pub from: String,
    /// Package name of its dependency.
    pub to: String,
    /// Kind of the dependency.
    pub kind: Kind,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    /// Only present for crates of the workspace.
    path: Option<String>,
}

/// Returns all dependencies between crates of this workspace.
pub fn edges() -> Result<Vec<Edge>, Error> {
    Ok(parse(&cargo("metadata --format-version 1 --no-deps")?)?)
}

fn parse(json: &[u8]) -> Result<Vec<Edge>, serde_json::Error> {
    let metadata: Metadata = serde_json::from_slice(json)?;
    let ours = |package: Package| {
        let paths = package.dependencies.into_iter().filter(|d| d.path.is_some());
        paths.map(move |d| edge(&package.name, d)).collect::<Vec<_>>()
    };
    Ok(metadata.packages.into_iter().flat_map(ours).collect())
}

fn edge(from: &str, dependency: Dependency) -> Edge {
    let kind = match dependency.kind.as_deref() {
        Some("dev") => Kind::Dev,
        Some("build") => Kind::Build,
        _ => Kind::Normal,
    };
    Edge { from: from.to_owned(), to: dependency.name, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_edges_of_the_workspace_with_their_kind() -> Result<(), serde_json::Error> {
        let json = br#"{"packages": [{"name": "npukit-lower", "dependencies": [
            {"name": "npukit-base", "kind": null, "path": "crates/base"},
            {"name": "serde", "kind": null},
            {"name": "npukit-isa", "kind": "dev", "path": "crates/isa"}]}]}"#;
        let edge = |to: &str, kind| Edge { from: "npukit-lower".into(), to: to.into(), kind };
        assert_eq!(parse(json)?, [edge("npukit-base", Kind::Normal), edge("npukit-isa", Kind::Dev)]);
        Ok(())
    }

    #[test]
    fn this_workspace_has_edges() -> Result<(), Error> {
        let edges = edges()?;
        assert!(edges.iter().any(|e| e.from == "npukit-cli" && e.to == "npukit"), "{edges:?}");
        Ok(())
    }
}
