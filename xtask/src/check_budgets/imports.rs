//! Files of its own crate that a file uses.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Visibility};

use super::lines::{attributes, is_test};
use super::modules::{Crate, ModulePath, bindings};

/// Returns the indices of the files whose names a module uses: in a `use` that is not a re-export,
/// or in a path of its code.
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

    /// Modules within a file are tests, or have another `super`.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    /// Attributes name macros.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    /// `pub(in path)` and similar do not use anything.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            self.note(&path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}
