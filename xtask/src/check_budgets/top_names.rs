//! Names at the top of the targets' `src` folders. Equal names help a reader to find the way in all
//! targets.

use std::collections::BTreeSet;

use super::Figure;
use crate::check_shape::{SKELETON, part};
use crate::source::SourceFile;

/// Names of files and folders, without `.rs`, at the top of any target's `src`.
pub fn figure(files: &[SourceFile]) -> Figure {
    let names: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| part(&file.path))
        .filter(|&(target, _)| target != SKELETON)
        .map(|(_, name)| name)
        .collect();
    Figure::of("names_at_top_of_targets", names.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_targets_or_of_a_file_and_its_folder_counts_once() {
        let file = |path: &str| SourceFile { path: path.to_owned(), text: String::new() };
        let paths = [
            "targets/a/src/op.rs",
            "targets/a/src/op/add.rs",
            "targets/b/src/op.rs",
            "targets/a/tests/main.rs",
        ];
        assert_eq!(figure(&paths.map(file)).parts, ["op"]);
    }
}
