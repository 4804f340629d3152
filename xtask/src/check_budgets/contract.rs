//! Methods of the traits in `crates/target`, which an accelerator provides.

use std::collections::{BTreeMap, BTreeSet};

use syn::{ImplItem, Item, TraitItem, Visibility};

use super::Figure;
use super::lines::ProductFile;
use crate::Error;

/// Names of a trait and of a method.
type Method = (String, String);

/// Computes the number of methods of all public traits, and of methods that only one target
/// implements.
pub fn figures(product: &[ProductFile<'_>]) -> Result<Vec<Figure>, Error> {
    let mut methods = BTreeSet::new();
    for file in product.iter().filter(|file| file.path.starts_with("crates/target/src/")) {
        file.items()?.iter().for_each(|item| methods.extend(declared(item)));
    }
    let mut implementers: BTreeMap<Method, BTreeSet<&str>> = BTreeMap::new();
    for file in product {
        let Some(target) = file.path.strip_prefix("targets/").and_then(|path| path.split('/').next()) else {
            continue;
        };
        for method in file.items()?.iter().flat_map(implemented).filter(|method| methods.contains(method)) {
            implementers.entry(method).or_default().insert(target);
        }
    }
    let single = implementers.iter().filter(|(_, targets)| targets.len() == 1);
    let single = single.map(|((name, method), targets)| {
        format!("{name}::{method} ({})", targets.iter().copied().collect::<String>())
    });
    let single = single.collect();
    let all = methods.iter().map(|(name, method)| format!("{name}::{method}")).collect();
    Ok(vec![Figure::of("methods_of_contract", all), Figure::of("methods_of_one_target", single)])
}

/// Methods that a public trait declares.
fn declared(item: &Item) -> Vec<Method> {
    let Item::Trait(item) = item else { return Vec::new() };
    if !matches!(item.vis, Visibility::Public(_)) {
        return Vec::new();
    }
    let methods = item.items.iter().filter_map(|one| match one {
        TraitItem::Fn(function) => Some((item.ident.to_string(), function.sig.ident.to_string())),
        _ => None,
    });
    methods.collect()
}

/// Methods of a trait that a block implements.
fn implemented(item: &Item) -> Vec<Method> {
    let Item::Impl(item) = item else { return Vec::new() };
    let Some(name) = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last()) else {
        return Vec::new();
    };
    let methods = item.items.iter().filter_map(|one| match one {
        ImplItem::Fn(function) => Some((name.ident.to_string(), function.sig.ident.to_string())),
        _ => None,
    });
    methods.collect()
}

#[cfg(test)]
mod tests {
    use super::super::lines::product;
    use super::*;
    use crate::source::SourceFile;

    #[test]
    fn methods_are_counted_with_who_implements_them() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(
                "crates/target/src/instance.rs",
                "pub trait Instance { fn a(&self); fn b(&self) {} }\ntrait Own { fn c(); }",
            ),
            file("targets/x/src/target.rs", "impl Instance for X { fn a(&self) {} fn b(&self) {} }"),
            file(
                "targets/y/src/target.rs",
                "impl npukit_target::Instance for Y { fn a(&self) {} }\nimpl Clone for Y { fn clone(&self) -> Y {} }",
            ),
        ];
        let figures = figures(&product(&files)).expect("Rust");
        assert_eq!(figures[0].parts, ["Instance::a", "Instance::b"]);
        assert_eq!(figures[1].parts, ["Instance::b (x)"]);
    }
}
