//! Suggestions for misspelt names.

/// The candidate nearest to `name`, when it is near enough to be what was meant: at most one edit
/// for every three letters, and always one. Case does not count.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(&name, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance: insertions, deletions and replacements that turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&b) {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{closest, edits};

    #[test]
    fn edit_distance() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["matmul", "datamove", "simd"];
        assert_eq!(closest("matmull", names), Some("matmul"));
        assert_eq!(closest("MATMUL", names), Some("matmul"));
        assert_eq!(closest("loop", names), None);
    }
}
