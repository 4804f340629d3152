//! Selects layers by name: [`chosen`].

use std::collections::BTreeSet;

use crate::error::Error;

/// Separator between the first and the last layer of a range.
const TO: &str = "..";
/// Separator between the names of nodes that form one layer.
const FUSED: char = '+';

/// Returns for each layer of `names` whether `range` selects it. The range is a name, a pattern
/// with `*`, or `A..B`: from the first layer that matches `A` to the last one that matches `B`;
/// either may be omitted. A layer of several nodes matches the name of each.
///
/// # Errors
///
/// Returns [`Error::UnknownName`] for an unknown name. Returns [`Error::TraceRange`] for a program
/// without layers, a pattern without matches, and a range that ends before it begins.
pub(super) fn chosen(range: &str, names: &[String]) -> Result<Vec<bool>, Error> {
    let wrong = |reason: String| Error::TraceRange { range: range.to_owned(), reason };
    if names.is_empty() {
        return Err(wrong("the program does not contain the names of its layers".to_owned()));
    }
    let meant = matching(range, names);
    let meant = match range.split_once(TO) {
        Some((from, to)) if meant.is_empty() => {
            let (first, last) = between(from, to, names)?;
            if first > last {
                let reason = format!("`{}` comes before `{}`", names[last], names[first]);
                return Err(wrong(reason));
            }
            (first..=last).collect()
        }
        _ if meant.is_empty() => return Err(unknown(range, names)),
        _ => meant,
    };
    Ok((0..names.len()).map(|place| meant.contains(&place)).collect())
}

/// Returns the indices of the first and the last layer of a range.
fn between(from: &str, to: &str, names: &[String]) -> Result<(usize, usize), Error> {
    let first = match from {
        "" => Some(0),
        from => matching(from, names).first().copied(),
    };
    let last = match to {
        "" => Some(names.len() - 1),
        to => matching(to, names).last().copied(),
    };
    let first = first.ok_or_else(|| unknown(from, names))?;
    Ok((first, last.ok_or_else(|| unknown(to, names))?))
}

/// Returns the indices of the layers whose name matches a pattern.
fn matching(pattern: &str, names: &[String]) -> BTreeSet<usize> {
    let means = |name: &str| like(pattern, name) || name.split(FUSED).any(|node| like(pattern, node));
    names.iter().enumerate().filter(|(_, name)| means(name)).map(|(place, _)| place).collect()
}

/// Whether a name matches a pattern, in which `*` stands for any text.
fn like(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    // Default: unreachable, since a split has at least one part.
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = name.get(at + part.len()..).unwrap_or_default(); // Default: unreachable, the match ends within the name.
    }
    name.ends_with(tail)
}

/// Returns the error for a name that no layer has.
fn unknown(name: &str, names: &[String]) -> Error {
    if name.contains('*') {
        return Error::TraceRange {
            range: name.to_owned(),
            reason: "no layer matches this pattern".to_owned(),
        };
    }
    let nodes = names.iter().filter(|name| name.contains(FUSED)).flat_map(|name| name.split(FUSED));
    let known: BTreeSet<&str> = names.iter().map(String::as_str).chain(nodes).collect();
    let known = known.into_iter().map(str::to_owned).collect();
    Error::UnknownName { what: "layer", name: name.to_owned(), known }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const NAMES: [&str; 4] = ["/conv1+/relu1", "/block/conv2", "/block/conv3+/relu3", "/logits"];

    fn places(range: &str) -> Vec<usize> {
        let chosen = chosen(range, &NAMES.map(str::to_owned)).unwrap();
        chosen.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(place, _)| place).collect()
    }

    #[test]
    fn layers_are_meant_by_name_node_pattern_and_range() {
        for (range, expected) in [
            ("/logits", vec![3]),
            ("/conv1+/relu1", vec![0]),
            ("/relu3", vec![2]),
            ("/block/*", vec![1, 2]),
            ("*conv*", vec![0, 1, 2]),
            ("*", vec![0, 1, 2, 3]),
            ("/conv1../block/*", vec![0, 1, 2]),
            ("/block/conv2../block/conv3", vec![1, 2]),
            ("/block/*..", vec![1, 2, 3]),
            ("../conv1", vec![0]),
            ("..", vec![0, 1, 2, 3]),
        ] {
            assert_eq!(places(range), expected, "{range}");
        }
    }

    #[test]
    fn patterns_are_whole_names() {
        for (pattern, name, expected) in [
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("a*b*c", "abc", true),
            ("ab*bc", "abc", false),
            ("*b", "abc", false),
            ("b*", "abc", false),
            ("", "abc", false),
            ("a**", "a", true),
        ] {
            assert_eq!(like(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let names = NAMES.map(str::to_owned);
        let message = |range: &str, names: &[String]| chosen(range, names).unwrap_err().to_string();
        assert!(message("/logit", &names).contains("unknown layer `/logit`"));
        assert!(message("/logit..", &names).contains("`/logit`"));
        assert!(message("/logits../conv1", &names).contains("`/conv1+/relu1` comes before `/logits`"));
        assert!(message("/x*", &names).contains("no layer matches this pattern"));
        assert!(message("a", &[]).contains("does not contain the names of its layers"));
    }
}
