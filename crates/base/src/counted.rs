//! Counts in sentences: [`counted`].

/// A number of things, as `1 node` or `2 nodes`.
///
/// ```
/// # use npukit_base::counted;
/// assert_eq!([0, 1, 2].map(|count| counted(count, "node")), ["0 nodes", "1 node", "2 nodes"]);
/// ```
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// The noun for so many things: with an `s`, but for one of them.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}
