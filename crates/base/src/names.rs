//! Suggestions for misspelled names.

use strsim::osa_distance;

/// Returns the candidate nearest to `name`, or `None` if no candidate is near. Candidates that
/// begin with `name` come first, followed by candidates within one edit per three letters (at least
/// one), and finally candidates whose beginning is within that distance. A swap of adjacent letters
/// is one edit. Case is ignored.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let ranked = candidates.into_iter().filter_map(|candidate| Some((rank(&name, candidate)?, candidate)));
    ranked.min_by_key(|&(rank, _)| rank).map(|(_, candidate)| candidate)
}

/// Number of letters that are enough to identify a longer name.
const BEGINNING: usize = 3;

/// Returns the distance of a candidate from a lower-case name: the kind of similarity, and the
/// number of edits or missing letters.
fn rank(name: &str, candidate: &str) -> Option<(u8, usize)> {
    let (letters, candidate) = (name.chars().count(), candidate.to_lowercase());
    let limit = (letters / 3).max(1);
    if let Some(rest) = candidate.strip_prefix(name).filter(|_| letters >= BEGINNING) {
        return Some((0, rest.chars().count()));
    }
    let whole = osa_distance(name, &candidate);
    if whole <= limit {
        return Some((1, whole));
    }
    // A beginning is weaker evidence than a whole name, so the name must be longer.
    let ends =
        candidate.char_indices().map(|(end, _)| end).skip(letters.saturating_sub(limit)).take(2 * limit + 1);
    let beginnings = ends.filter_map(|end| candidate.get(..end));
    let nearest = beginnings.map(|beginning| osa_distance(name, beginning)).min()?;
    (nearest <= limit && letters > 2 * BEGINNING).then_some((2, nearest))
}

/// Returns the text to append to a message about `name`, which suggests the nearest of
/// `candidates`; empty if none is near.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, candidates).map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"))
}

/// Returns the help for a name that is not one of `known`: the nearest name, or all of them.
pub fn help_for(name: &str, known: &[&str]) -> String {
    match closest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", known.join(", ")),
    }
}

/// Returns the name that a text of [`help_for`] suggests.
pub fn meant(help: &str) -> Option<&str> {
    let (_, rest) = help.split_once("did you mean `")?;
    rest.split_once('`').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::{closest, help_for, meant, suggestion};

    #[test]
    fn what_is_proposed_is_read_back() {
        assert_eq!(meant(&help_for("matmull", &["matmul", "simd"])), Some("matmul"));
        assert_eq!(meant(&help_for("loop", &["matmul", "simd"])), None);
    }

    #[test]
    fn suggestions_are_for_near_names_alone() {
        assert_eq!(
            suggestion("local_depht", ["local_depth", "dram0_depth"]),
            " (did you mean `local_depth`?)"
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
        let networks = ["resnet50", "resnet20v2", "mobilenetv2", "yolov3"];
        assert_eq!(closest("resnet20", networks), Some("resnet20v2"));
        assert_eq!(closest("yolo", networks), Some("yolov3"));
        assert_eq!(closest("moblenet", networks), Some("mobilenetv2"));
        assert_eq!(closest("ye", networks), None);
        assert_eq!(closest("modelnet", networks), None);
        assert_eq!(closest("", networks), None);
        assert_eq!(help_for("MatMull", &names), "did you mean `matmul`?");
        assert_eq!(help_for("loop", &names), "there are matmul, datamove, simd");
    }
}
