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

/// Adds to a message that `name` may be meant for the nearest of `candidates`.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, candidates).map_or_else(String::new, |meant| format!(": `{meant}` is meant, perhaps"))
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            let swapped = i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other;
            let swap = if swapped { before[j - 1] + 1 } else { usize::MAX };
            row.push(replaced.min(last[j + 1] + 1).min(row[j] + 1).min(swap));
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{closest, edits, suggestion};

    #[test]
    fn edit_distance() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("same", "same"), 0);
        assert_eq!(edits("cpoy", "copy"), 1);
        assert_eq!(edits("ab", "cd"), 2);
    }

    #[test]
    fn suggestions_are_for_near_names_alone() {
        assert_eq!(
            suggestion("local_depht", ["local_depth", "dram0_depth"]),
            ": `local_depth` is meant, perhaps"
        );
        assert_eq!(suggestion("comment", ["local_depth"]), "");
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["matmul", "datamove", "simd"];
        assert_eq!(closest("matmull", names), Some("matmul"));
        assert_eq!(closest("MATMUL", names), Some("matmul"));
        assert_eq!(closest("loop", names), None);
    }
}
