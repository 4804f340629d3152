//! Resolution of paths in a crate to the file that defines them.

use std::collections::BTreeMap;

use syn::{Item, UseTree, Visibility};

use super::lines::{ProductFile, attributes, is_test};
use crate::Error;

/// Names of modules from the root of a crate, followed by the name of an item.
pub type ModulePath = Vec<String>;

/// Maximum number of re-exports followed in a search. It ends circular re-exports.
const MAX_STEPS: usize = 16;

/// A module that is a file.
pub struct Module {
    /// Index of the file.
    pub file: usize,
    /// Imported names, with their paths.
    bound: BTreeMap<String, ModulePath>,
    /// Modules whose names are all re-exported.
    globs: Vec<ModulePath>,
    /// Defined names.
    defined: Vec<String>,
}

/// Modules of a crate.
#[derive(Default)]
pub struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

/// A path of a `use` and the name that it binds.
pub struct Binding {
    /// Path as written.
    pub path: ModulePath,
    /// Bound name; `None` for a glob import.
    pub name: Option<String>,
}

/// Collects the crates of the product by the folder of their sources.
pub fn crates<'a>(product: &[ProductFile<'a>]) -> Result<BTreeMap<&'a str, Crate>, Error> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for (index, file) in product.iter().enumerate() {
        let Some((folder, path)) = place(file.path) else { continue };
        let module = Module { file: index, bound: BTreeMap::new(), globs: Vec::new(), defined: Vec::new() };
        crates.entry(folder).or_default().modules.insert(path, module);
    }
    for file in product {
        let Some((folder, path)) = place(file.path) else { continue };
        if let Some(one) = crates.get_mut(folder) {
            one.read(&path, file.items()?);
        }
    }
    Ok(crates)
}

/// Folder of a crate's sources, and module path of a file in it.
pub fn place(path: &str) -> Option<(&str, ModulePath)> {
    let start = path.find("/src/")?;
    let module = path[start + "/src/".len()..].strip_suffix(".rs")?;
    let is_root = matches!(module, "lib" | "main");
    let module = if is_root { Vec::new() } else { module.split('/').map(str::to_owned).collect() };
    Some((&path[..start], module))
}

impl Crate {
    /// Records the definitions and imports of a module.
    fn read(&mut self, path: &ModulePath, items: &[Item]) {
        let (mut bound, mut globs, mut defined) = (BTreeMap::new(), Vec::new(), Vec::new());
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            let Item::Use(one) = item else {
                defined.extend(name(item));
                continue;
            };
            for Binding { path: written, name } in bindings(&one.tree) {
                let Some(target) = self.absolute(path, &written) else { continue };
                match name {
                    Some(name) => drop(bound.insert(name, target)),
                    None if !matches!(one.vis, Visibility::Inherited) => globs.push(target),
                    None => {}
                }
            }
        }
        if let Some(module) = self.modules.get_mut(path) {
            (module.bound, module.globs, module.defined) = (bound, globs, defined);
        }
    }

    /// Converts a path in a module to one from the root of the crate; `None` if it belongs to
    /// another crate.
    pub fn absolute(&self, module: &[String], written: &[String]) -> Option<ModulePath> {
        let (first, rest) = written.split_first()?;
        let from = |base: &[String], rest: &[String]| [base, rest].concat();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some(from(module, rest)),
            "super" => {
                let (_, mut parent) = module.split_last()?;
                let mut rest = rest;
                while let Some((_, behind)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    (parent, rest) = (parent.split_last()?.1, behind);
                }
                Some(from(parent, rest))
            }
            _ => {
                let is_child = self.modules.contains_key(&from(module, std::slice::from_ref(first)));
                is_child.then(|| from(module, written))
            }
        }
    }

    /// File that defines the item of a path from the root.
    pub fn file_of(&self, path: &[String]) -> Option<usize> {
        self.search(path, MAX_STEPS)
    }

    fn search(&self, path: &[String], steps: usize) -> Option<usize> {
        let steps = steps.checked_sub(1)?;
        let depth = (0..=path.len()).rev().find(|&depth| self.modules.contains_key(&path[..depth]))?;
        let module = &self.modules[&path[..depth]];
        let Some((name, rest)) = path[depth..].split_first() else { return Some(module.file) };
        if module.defined.contains(name) {
            return Some(module.file);
        }
        if let Some(target) = module.bound.get(name) {
            return self.search(&[target, rest].concat(), steps);
        }
        let names = [std::slice::from_ref(name), rest].concat();
        let passed_on = |glob: &ModulePath| {
            let file = self.search(&[glob, names.as_slice()].concat(), steps)?;
            let own = self.modules.get(glob).map(|module| module.file);
            let defines = self.modules.get(glob).is_some_and(|module| module.defined.contains(name));
            (Some(file) != own || defines).then_some(file)
        };
        Some(module.globs.iter().find_map(passed_on).unwrap_or(module.file))
    }
}

/// Name that an item defines.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) if item.content.is_some() => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// Paths and names of a `use`.
pub fn bindings(tree: &UseTree) -> Vec<Binding> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let inner = bindings(&path.tree).into_iter();
            inner.map(|one| Binding { path: [vec![first.clone()], one.path].concat(), ..one }).collect()
        }
        UseTree::Name(name) if name.ident == "self" => vec![Binding { path: Vec::new(), name: None }],
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            vec![Binding { path: vec![name.clone()], name: Some(name) }]
        }
        UseTree::Rename(name) => {
            let (from, to) = (name.ident.to_string(), name.rename.to_string());
            let path = if from == "self" { Vec::new() } else { vec![from] };
            vec![Binding { path, name: Some(to) }]
        }
        UseTree::Glob(_) => vec![Binding { path: Vec::new(), name: None }],
        UseTree::Group(group) => group.items.iter().flat_map(bindings).collect(),
    }
}
