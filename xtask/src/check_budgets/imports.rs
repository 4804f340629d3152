//! Which files of its crate a file uses.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Visibility};

use super::lines::{attributes, is_test};
use super::modules::{Crate, ModulePath, bindings};

/// Files whose names a module uses: by a `use` that is no re-export, or by a path in its code. Indices of files.
pub fn imports(one: &Crate, module: &[String], items: &[Item]) -> BTreeSet<usize> {
    let mut walk = Walk { one, module, found: BTreeSet::new() };
    items.iter().filter(|item| !is_test(attributes(item))).for_each(|item| walk.visit_item(item));
    walk.found
}

struct Walk<'a> {
    one: &'a Crate,
    module: &'a [String],
    found: BTreeSet<usize>,
}

impl Walk<'_> {
    fn note(&mut self, written: &ModulePath) {
        let path = self.one.absolute(self.module, written);
        self.found.extend(path.and_then(|path| self.one.file_of(&path)));
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            bindings(&item.tree).iter().for_each(|binding| self.note(&binding.path));
        }
    }

    /// Modules in a file are tests, or have a `super` of their own.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    /// Attributes name macros.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// `pub(in path)` and the like use nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.note(&path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}
