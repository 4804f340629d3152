//! Seeded defects of the compilers: `xtask/defects/*.toml`. Each is an expression of a function,
//! with a replacement.
//!
//! They resemble real defects of compilers, which tools cannot list; each entry describes its kind.
//! They are found by the name of the function and the text of the expression, so they follow moved
//! code.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::list::Mutant;
use crate::Error;

/// Folder of the lists.
const FOLDER: &str = "xtask/defects";

/// A file of defects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    defect: Vec<Defect>,
}

/// A defect of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defect {
    /// Description of the defect.
    is: String,
    file: String,
    function: String,
    /// Expression that occurs exactly once in the function.
    code: String,
    instead: String,
}

/// Reads all defects of the workspace in `root`.
///
/// # Errors
///
/// A list cannot be read, or the code of a defect occurs never or more than once.
pub fn defects(root: &Path) -> Result<Vec<Mutant>, Error> {
    let folder = root.join(FOLDER);
    let failed = |source| Error::Read { path: FOLDER.to_owned(), source };
    let entries = std::fs::read_dir(&folder).map_err(failed)?.collect::<Result<Vec<_>, _>>();
    let mut lists: Vec<_> = entries.map_err(failed)?.iter().map(std::fs::DirEntry::path).collect();
    lists.sort();
    let (mut defects, mut lost) = (Vec::new(), Vec::new());
    for list in lists.iter().filter(|list| list.extension().is_some_and(|ending| ending == "toml")) {
        let unread = |error: toml::de::Error| Error::Defects(format!("{}: {error}", list.display()));
        let list: List = toml::from_str(&read(list)?).map_err(unread)?;
        for defect in list.defect {
            let source = read(&root.join(&defect.file))?;
            match placed(defect, &source) {
                Ok(mutant) => defects.push(mutant),
                Err(message) => lost.push(message),
            }
        }
    }
    if lost.is_empty() { Ok(defects) } else { Err(Error::Defects(lost.join("\n"))) }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.display().to_string(), source })
}

/// Package of a file: `npukit-x` for `crates/x/src/...` and `targets/x/src/...`.
fn package(file: &str) -> String {
    let name = file.split('/').nth(1);
    super::package(name.unwrap_or_default()) // Default: a file elsewhere does not belong to a package, and is not found either.
}

/// Converts a defect to a mutant of its file. The error explains why it cannot be placed.
fn placed(defect: Defect, source: &str) -> Result<Mutant, String> {
    let Defect { is, file, function, code, instead } = defect;
    let message = |what: &str| format!("`{is}`: {file}, {function}: {what}");
    let tree = syn::parse_file(source).map_err(|error| message(&error.to_string()))?;
    let mut bodies = Bodies { name: &function, found: Vec::new() };
    bodies.visit_file(&tree);
    let places = bodies.found.iter().flat_map(|body| {
        source[body.clone()].match_indices(&code).map(|(at, _)| body.start + at).collect::<Vec<_>>()
    });
    let [at] = places.collect::<Vec<_>>()[..] else {
        return Err(message(&format!("it does not have `{code}` exactly once")));
    };
    let name = format!("{file}: {is}: `{instead}` for `{code}` in {function}");
    Ok(Mutant::expression((name, package(&file), file), (source, at..at + code.len()), instead))
}

/// Bodies of the functions with a given name.
struct Bodies<'a> {
    name: &'a str,
    found: Vec<Range<usize>>,
}

impl Bodies<'_> {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        if signature.ident == self.name {
            self.found.push(body.span().byte_range());
        }
    }
}

impl<'ast> Visit<'ast> for Bodies<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        function.default.iter().for_each(|body| self.add(&function.sig, body));
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Reports moved or changed code of a defect, long before the next run of the proofs.
    #[test]
    fn every_defect_has_its_place() {
        let defects = defects(&crate::root()).unwrap();
        for target in ["tcu", "opu", "pccx", "drra"] {
            let name = format!("npukit-{target}");
            let count = defects.iter().filter(|defect| defect.package == name).count();
            assert!(count >= 7, "{target} has {count} defects");
        }
        assert!(defects.len() >= 30, "{}", defects.len());
        for package in defects.iter().map(|defect| &defect.file).collect::<std::collections::BTreeSet<_>>() {
            let own: Vec<(usize, &Mutant)> =
                defects.iter().enumerate().filter(|(_, defect)| defect.file == *package).collect();
            let woven =
                super::super::weave::weave(&read(&crate::root().join(package)).unwrap(), &own).unwrap();
            let lost: Vec<&str> = woven.lost.iter().map(|&number| defects[number].name.as_str()).collect();
            assert!(lost.is_empty(), "not whole expressions: {lost:?}");
        }
    }

    #[test]
    fn a_place_is_one_expression_of_a_function() {
        let source = "fn f() { a + 1; a + 1; b + 1 }\nfn g() { a + 1 }\n";
        let placed = |function: &str, code: &str| {
            let [is, file, instead] = ["", "crates/x/src/lib.rs", "2"].map(str::to_owned);
            let defect = Defect { is, file, function: function.to_owned(), code: code.to_owned(), instead };
            placed(defect, source)
        };
        let lines: Vec<usize> = vec![0, source.find("fn g").unwrap()];
        let found = placed("g", "a + 1").unwrap();
        assert_eq!((found.package.as_str(), &source[found.bytes(source, &lines)]), ("npukit-x", "a + 1"));
        assert_eq!(&source[placed("f", "b + 1").unwrap().bytes(source, &lines)], "b + 1");
        for (function, code) in [("f", "a + 1"), ("g", "b + 1"), ("h", "a + 1")] {
            assert!(placed(function, code).unwrap_err().contains("exactly once"));
        }
    }
}
