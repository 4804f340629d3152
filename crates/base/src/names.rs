//! Suggestions for misspelt names.

use strsim::osa_distance;

/// The candidate nearest to `name`, when it is near enough to be what was meant: at most one edit
/// for every three letters, and always one; a swap of neighbours is one. Case does not count.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (osa_distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Adds to a message that `name` may be meant for the nearest of `candidates`.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, candidates).map_or_else(String::new, |meant| format!(": `{meant}` is meant, perhaps"))
}

/// What to say about a name that is not one of `known`: the one that is meant, or all of them.
pub fn help_for(name: &str, known: &[&str]) -> String {
    match closest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{closest, help_for, suggestion};

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
        assert_eq!(closest("sidm", names), Some("simd"));
        assert_eq!(closest("loop", names), None);
        assert_eq!(help_for("MatMull", &names), "did you mean `matmul`?");
        assert_eq!(help_for("loop", &names), "there are matmul, datamove, simd");
    }
}
