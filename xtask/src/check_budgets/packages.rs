//! Numbers of packages, in the workspace and of third parties.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::Figure;
use crate::Error;
use crate::cargo::cargo;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Value>,
    workspace_members: Vec<String>,
}

/// Computes the packages of the workspace and of the lock file, the crates that `npukit-base`
/// needs, and the crates compiled for a first run.
pub fn figures() -> Result<Vec<Figure>, Error> {
    let metadata: Metadata = serde_json::from_slice(&cargo("metadata --locked --format-version 1")?)?;
    let below = |package: &str| {
        cargo(&format!("tree --locked -p {package} -e normal,build --prefix none --format {{p}}"))
            .map(|list| packages(&String::from_utf8_lossy(&list)).len())
    };
    Ok(vec![
        Figure::new("packages", metadata.workspace_members.len()),
        Figure::new("packages_in_lock", metadata.packages.len()),
        Figure::new("packages_below_base", below("npukit-base")?.saturating_sub(1)),
        Figure::new("crates_of_first_run", below("npukit-cli")?),
    ])
}

/// Distinct packages of a cargo listing.
fn packages(list: &str) -> BTreeSet<&str> {
    list.lines().map(|line| line.split(" (").next().unwrap_or(line)).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_counts_once() {
        let list = "npukit-base v0.1.0 (/crates/base)\nserde v1.0.228\nserde v1.0.228 (*)\nserde v2.0.0\n\n";
        assert_eq!(packages(list), ["npukit-base v0.1.0", "serde v1.0.228", "serde v2.0.0"].into());
    }
}
