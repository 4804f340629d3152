//! Lines of the product: the `src/` folders of `crates`, `targets` and `python`, without tests and
//! test support.

use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::{Attribute, Item};

use super::Figure;
use crate::Error;
use crate::source::SourceFile;

/// Crates that support tests.
const OF_TESTS: &[&str] = &["crates/fuzzing/", "crates/needs/", "crates/shared/", "crates/testing/"];

/// A parsed file of the product.
pub struct ProductFile<'a> {
    /// Path relative to the root.
    pub path: &'a str,
    /// Syntax tree, or the syntax error.
    pub syntax: Result<syn::File, syn::Error>,
    lines: usize,
}

/// Files of the product, except tests.
pub fn product(files: &[SourceFile]) -> Vec<ProductFile<'_>> {
    let product = files.iter().filter(|file| is_product(&file.path));
    let parsed = product.map(|SourceFile { path, text }| ProductFile {
        path,
        syntax: syn::parse_file(text),
        lines: text.lines().count(),
    });
    parsed.collect()
}

fn is_product(path: &str) -> bool {
    let is_ours = ["crates/", "targets/", "python/"].iter().any(|folder| path.starts_with(folder));
    let of_tests = OF_TESTS.iter().any(|folder| path.starts_with(folder)) || path.ends_with("/tests.rs");
    is_ours && path.ends_with(".rs") && path.contains("/src/") && !of_tests
}

/// Computes the lines of all files, without test-only items.
pub fn figure(product: &[ProductFile<'_>]) -> Result<Figure, Error> {
    let mut lines = 0;
    for file in product {
        let tests = file.items()?.iter().filter(|item| is_test(attributes(item))).map(extent);
        lines += file.lines - tests.map(|lines| lines.len()).sum::<usize>();
    }
    Ok(Figure::new("product_lines", lines))
}

impl ProductFile<'_> {
    /// Items of the file.
    pub fn items(&self) -> Result<&[Item], Error> {
        match &self.syntax {
            Ok(file) => Ok(&file.items),
            Err(error) => Err(Error::Syntax { path: self.path.to_owned(), error: error.clone() }),
        }
    }
}

/// Lines of an item, including its attributes.
fn extent(item: &Item) -> Range<usize> {
    let LineColumn { line: first, .. } = item.span().start();
    let LineColumn { line: last, .. } = item.span().end();
    first..last + 1
}

/// Whether attributes mark an item as test-only.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// Attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_do_not_count() {
        let text = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n".to_owned();
        let file = |path: &str| SourceFile { path: path.to_owned(), text: text.clone() };
        let files =
            [file("crates/a/src/lib.rs"), file("crates/a/tests/main.rs"), file("crates/testing/src/lib.rs")];
        assert_eq!(figure(&product(&files)).expect("Rust").value, 2);
    }
}
