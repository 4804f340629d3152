//! References to results in a graph: [`Reference`].

/// A result of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    /// Name of the node.
    pub(super) node: &'a str,
    /// Index of the result, from 0.
    pub(super) index: usize,
}

impl<'a> Reference<'a> {
    /// Parses the reference `node`, `node:0` or `node:1`. Returns `None` for `^node`, which only
    /// orders side effects.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if text.starts_with('^') {
            return None;
        }
        let with_index = text.rsplit_once(':').and_then(|(node, index)| Some((node, index.parse().ok()?)));
        let (node, index) = with_index.unwrap_or((text, 0));
        Some(Self { node, index })
    }
}

/// Name of the node in `node` or `node:0`, the names of inputs for users.
pub(super) fn node_of(text: &str) -> &str {
    text.strip_suffix(":0").unwrap_or(text)
}

/// Name of result `index` of `node`, as used for values of the graph.
pub(super) fn result_name(node: &str, index: usize) -> String {
    if index == 0 { node.to_owned() } else { format!("{node}:{index}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_a_node_and_a_result() {
        let parsed = |text| Reference::parse(text).map(|found| (found.node, found.index));
        assert_eq!(parsed("a/b"), Some(("a/b", 0)));
        assert_eq!(parsed("a/b:0"), Some(("a/b", 0)));
        assert_eq!(parsed("a:12"), Some(("a", 12)));
        assert_eq!(parsed("^a"), None);
        assert_eq!(parsed("a:x"), Some(("a:x", 0)));
        assert_eq!((node_of("x:0"), node_of("x")), ("x", "x"));
        assert_eq!(result_name("a", 0), "a");
        assert_eq!(result_name("a", 2), "a:2");
    }
}
