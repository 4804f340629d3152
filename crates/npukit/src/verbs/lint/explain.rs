//! Explains the kinds of findings, for `npu explain CODE`: [`explain()`].

use npukit_base::closest;
use npukit_target::{LINTS_OF_TEXTS, Lint};
use serde::Serialize;

use crate::error::Error;
use crate::targets::{target, targets};

/// Explanation of a kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Explained {
    /// Target that the finding belongs to; `None` for findings in the text of any target.
    pub target: Option<&'static str>,
    /// Kind of finding.
    #[serde(flatten)]
    pub lint: Lint,
}

/// Explanations of kinds of findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Explanations {
    /// Explanations in the order of `npu targets`; those for texts of all targets are last.
    pub lints: Vec<Explained>,
}

/// Maximum number of codes that are suggested.
const MAX_NEAR: usize = 3;

/// Lists every kind of finding with its target, or only the kinds of the target `only`.
///
/// # Errors
///
/// Returns [`Error::UnknownTarget`] for an unknown target.
pub fn lints(only: Option<&str>) -> Result<Vec<Explained>, Error> {
    // Default: the instance of a target is ignored.
    let only = only.map(|spec| target(spec.split(':').next().unwrap_or(spec))).transpose()?;
    let is_meant = |name: &str| only.is_none_or(|only| only.name == name);
    let own = targets().iter().filter(|target| is_meant(target.name));
    let own = own.flat_map(|of| of.lints.iter().map(|lint| (Some(of.name), *lint)));
    let all = own.chain(LINTS_OF_TEXTS.iter().map(|lint| (None, *lint)));
    Ok(all.map(|(target, lint)| Explained { target, lint: *lint }).collect())
}

/// Explains `code` for the target `only`, or for every target that has it.
///
/// # Errors
///
/// Returns [`Error::UnknownFinding`] for an unknown code, with the closest ones, and
/// [`Error::UnknownTarget`].
pub fn explain(code: &str, only: Option<&str>) -> Result<Explanations, Error> {
    let (all, wanted) = (lints(only)?, code.trim().to_lowercase());
    let lints: Vec<Explained> =
        all.iter().copied().filter(|explained| explained.lint.code == wanted).collect();
    if !lints.is_empty() {
        return Ok(Explanations { lints });
    }
    let mut near: Vec<&str> = Vec::new();
    while let Some(next) =
        closest(&wanted, all.iter().map(|one| one.lint.code).filter(|one| !near.contains(one)))
    {
        near.push(next);
        if near.len() == MAX_NEAR {
            break;
        }
    }
    let known: Vec<&str> = if near.is_empty() { all.iter().map(|one| one.lint.code).collect() } else { near };
    let mut known: Vec<String> = known.into_iter().map(str::to_owned).collect();
    if known.len() > MAX_NEAR {
        known.sort();
        known.dedup();
    }
    Err(Error::UnknownFinding { code: code.to_owned(), near: known })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeSet;

    use npukit_target::InstanceSpec;

    use super::*;

    /// Tables of targets and of their instances are equal, sorted and complete.
    #[test]
    fn the_tables_are_in_order() {
        for target in targets() {
            let instance = target.instance(InstanceSpec::Default).unwrap();
            assert_eq!(instance.info().lints, target.lints, "{}", target.name);
            assert!(!target.lints.is_empty());
        }
        for table in targets().iter().map(|target| target.lints).chain([LINTS_OF_TEXTS]) {
            let codes: Vec<&str> = table.iter().map(|lint| lint.code).collect();
            assert!(codes.is_sorted(), "{codes:?}");
            assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
            for lint in table {
                let Lint { code, meaning, explanation, .. } = lint;
                assert!(
                    code.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                    "{code}"
                );
                assert!(meaning.len() > 15 && !meaning.ends_with('.'), "{code}: {meaning}");
                assert!(explanation.ends_with('.') && explanation.len() > 80, "{code}: {explanation}");
            }
        }
    }

    /// Checks `docs/lint.md`, which contains every kind of finding. `NPUKIT_BLESS=1` writes it.
    #[test]
    fn every_kind_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lint.md");
        let section = |(name, lints): (&str, &[&Lint])| {
            let row =
                |lint: &&Lint| format!("| `{}` | {} | {} |\n", lint.code, lint.severity.name(), lint.meaning);
            let rows: String = lints.iter().map(row).collect();
            format!("\n## {name}\n\n| code | at worst | means |\n|---|---|---|\n{rows}")
        };
        let of_targets = targets().iter().map(|target| (target.name, target.lints));
        let page = of_targets.chain([("Texts of all targets", LINTS_OF_TEXTS)]).map(section);
        let page = format!("{HEAD}{}", page.collect::<String>());
        if std::env::var("NPUKIT_BLESS").is_ok_and(|bless| bless == "1") {
            std::fs::write(path, &page).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        assert_eq!(found, page, "NPUKIT_BLESS=1 writes docs/lint.md");
    }

    const HEAD: &str = include_str!("head.md");
}
