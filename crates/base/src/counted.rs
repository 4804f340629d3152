//! Numbers of things in sentences: [`counted`].

/// Formats a number of things, such as `1 node` or `2 nodes`.
///
/// ```
/// # use npukit_base::counted;
/// assert_eq!([0, 1, 2].map(|count| counted(count, "node")), ["0 nodes", "1 node", "2 nodes"]);
/// ```
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// Returns the noun for `count` things: unchanged for 1, otherwise with an `s`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}
