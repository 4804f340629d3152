//! Imports between files: circles, whose files cannot be read one after the other, and imports that
//! go upward between the parts of a target.
//!
//! A file and the folder of its name form one part, so uses between them do not make a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::Figure;
use super::imports::imports;
use super::lines::ProductFile;
use super::modules::{Crate, crates, place};
use crate::Error;
use crate::check_shape::{PARTS, part};

/// Crate that every command uses.
const FACADE: &str = "crates/npukit/src/";

/// Computes the number of circles in all crates, files of the largest circle, files of the facade
/// in any circle, and upward imports in targets.
pub fn figures(product: &[ProductFile<'_>]) -> Result<Vec<Figure>, Error> {
    let graph = graph(product)?;
    let circles = circles(&graph);
    let paths =
        |circle: &Vec<usize>| circle.iter().map(|&file| product[file].path.to_owned()).collect::<Vec<_>>();
    let largest = circles.iter().max_by_key(|circle| circle.len()).map(paths);
    let of_facade =
        circles.iter().flatten().map(|&file| product[file].path).filter(|path| path.starts_with(FACADE));
    Ok(vec![
        Figure::of(
            "circles_of_imports",
            circles.iter().map(|circle| inside(product, &graph, circle)).collect(),
        ),
        Figure::of("files_in_largest_circle", largest.unwrap_or_default()),
        Figure::of("files_of_facade_in_circles", of_facade.map(str::to_owned).collect()),
        Figure::of("imports_upwards_in_targets", upwards(product, &graph)),
    ])
}

/// For each file, the files that it uses, except its own parts.
fn graph(product: &[ProductFile<'_>]) -> Result<Vec<BTreeSet<usize>>, Error> {
    let crates: BTreeMap<&str, Crate> = crates(product)?;
    let mut graph = Vec::with_capacity(product.len());
    for (index, file) in product.iter().enumerate() {
        let mut used = BTreeSet::new();
        if let Some((folder, module)) = place(file.path)
            && let Some(one) = crates.get(folder)
        {
            used = imports(one, &module, file.items()?);
        }
        let own = file.path.strip_suffix(".rs").map(|path| format!("{path}/"));
        used.retain(|&other| {
            other != index && own.as_ref().is_none_or(|own| !product[other].path.starts_with(own))
        });
        graph.push(used);
    }
    Ok(graph)
}

/// Imports of a target's files from a part above their own.
fn upwards(product: &[ProductFile<'_>], graph: &[BTreeSet<usize>]) -> Vec<String> {
    let height = |path: &str| {
        let (_, name) = part(path)?;
        PARTS.iter().rev().position(|part| part.name == name)
    };
    let edges =
        graph.iter().enumerate().flat_map(|(file, used)| used.iter().map(move |&other| (file, other)));
    let paths = edges.map(|(file, other)| (product[file].path, product[other].path));
    let upwards = paths.filter(|(file, other)| height(file) < height(other));
    upwards.map(|(file, other)| format!("{file} uses {other}")).collect()
}

/// Strongly connected sets of more than one file, sorted by their first files.
fn circles(graph: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..graph.len()).map(|start| reached(graph, start)).collect();
    let mut circles: BTreeSet<Vec<usize>> = BTreeSet::new();
    for (file, from_here) in reached.iter().enumerate() {
        let circle: Vec<usize> =
            from_here.iter().copied().filter(|&other| reached[other].contains(&file)).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Describes the uses between the files of a circle.
fn inside(product: &[ProductFile<'_>], graph: &[BTreeSet<usize>], circle: &[usize]) -> String {
    let uses = circle.iter().map(|file| {
        let used: Vec<&str> = circle
            .iter()
            .filter(|&other| graph[*file].contains(other))
            .map(|&other| product[other].path)
            .collect();
        format!("{} uses {}", product[*file].path, used.join(" "))
    });
    uses.collect::<Vec<_>>().join("; ")
}

/// Files reachable in at least one step.
fn reached(graph: &[BTreeSet<usize>], start: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        open.extend(graph[file].iter().filter(|&&next| reached.insert(next)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::lines::product;
    use super::*;
    use crate::source::SourceFile;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |&(path, text): &(&str, &str)| SourceFile {
            path: format!("crates/{path}"),
            text: text.to_owned(),
        };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        figures(&product(&files)).expect("Rust").remove(0).parts
    }

    #[test]
    fn a_circle_is_found_through_names_that_are_passed_on() {
        let circle = "crates/a/src/b.rs uses crates/a/src/c.rs; crates/a/src/c.rs uses crates/a/src/b.rs";
        for (of_b, of_c) in [
            ("use crate::C;\npub struct B;", "use crate::b::B;\npub struct C;"),
            ("pub fn b() { super::c::c() }", "pub fn c() { crate::b::b() }"),
            ("use super::{c as d};\npub struct B;", "use crate::B as E;\npub struct C;"),
        ] {
            let root = "mod b;\nmod c;\npub use b::*;\npub use c::C;";
            assert_eq!(
                found(&[("a/src/b.rs", of_b), ("a/src/c.rs", of_c), ("a/src/lib.rs", root)]),
                [circle]
            );
        }
    }

    #[test]
    fn a_target_is_used_from_above() {
        let files = [
            ("../targets/a/src/config.rs", "use crate::isa::B;\npub struct A;"),
            ("../targets/a/src/isa.rs", "use crate::config::A;\npub struct B;"),
            ("../targets/a/src/lib.rs", "mod config;\nmod isa;"),
        ];
        let file = |&(path, text): &(&str, &str)| SourceFile {
            path: path.trim_start_matches("../").to_owned(),
            text: text.to_owned(),
        };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        let parts = figures(&product(&files)).expect("Rust").remove(3).parts;
        assert_eq!(parts, ["targets/a/src/config.rs uses targets/a/src/isa.rs"]);
    }

    #[test]
    fn tests_re_exports_and_other_crates_make_no_circle() {
        let b = "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n";
        let c = "use crate::B;\nuse std::b::X;\npub struct C;";
        let root = "mod b;\nmod c;\npub use b::B;\npub use c::C;";
        assert_eq!(found(&[("a/src/b.rs", b), ("a/src/c.rs", c), ("a/src/lib.rs", root)]), [""; 0]);
    }

    #[test]
    fn a_module_and_its_part_make_no_circle_and_two_parts_make_one() {
        let parts = |of_d: &str| {
            let parent = "mod d;\nmod e;\npub struct B;\nfn f() { d::g() }";
            let files = [("a/src/lib.rs", "mod b;"), ("a/src/b.rs", parent), ("a/src/b/d.rs", of_d)];
            found(&[files.as_slice(), &[("a/src/b/e.rs", "use super::d::g;\npub fn h() {}")]].concat())
        };
        assert_eq!(parts("use super::B;\npub fn g() {}"), [""; 0]);
        assert_eq!(
            parts("use super::e::h;\npub fn g() {}"),
            ["crates/a/src/b/d.rs uses crates/a/src/b/e.rs; crates/a/src/b/e.rs uses crates/a/src/b/d.rs"]
        );
    }
}
