//! [`candidates`]: words of a line that may be names of symbols and have no other meaning.

use npukit_isa::token::Token;

use crate::symbols::Symbols;

/// Directives whose first words are names of memories, with the number of these words.
const OF_MEMORIES: [(&str, usize); 4] = [("data", 1), ("expect", 1), ("input", 2), ("output", 2)];

/// Returns the words after a directive that may be names. Without a directive, every word of the
/// line may be one.
pub(super) fn candidates<'a, 'b>(directive: Option<&str>, tokens: &'b [Token<'a>]) -> Vec<&'b Token<'a>> {
    let of = |directive: &str| OF_MEMORIES.iter().find(|(name, _)| directive.eq_ignore_ascii_case(name));
    let memories = directive.and_then(of).map_or(0, |(_, count)| *count);
    let (mut found, mut quoted, mut depth, mut argument) = (Vec::new(), false, 0_usize, 0_usize);
    let mut after_backslash = false;
    for token in tokens {
        let is_parameter = std::mem::replace(&mut after_backslash, token.text == "\\");
        match token.text {
            "\"" => quoted = !quoted,
            _ if quoted || is_parameter => {}
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "," if depth == 0 => argument += 1,
            // Outside of brackets there are memories and names.
            text if Symbols::is_name(text) && (depth > 0 || argument >= memories) => found.push(token),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use npukit_isa::token::tokens;

    use super::*;

    #[test]
    fn memories_and_texts_are_no_symbols() {
        let names = |directive, text| {
            let tokens = tokens(text, 0);
            candidates(directive, &tokens).into_iter().map(|token| token.text.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(Some("data"), "l2[x:y+1], z, \"file.npy\""), ["x", "y", "z"]);
        assert_eq!(names(Some("input"), "x, l2[c]"), ["c"]);
        assert_eq!(names(Some("equ"), "a, b + 4"), ["a", "b"]);
        assert_eq!(names(None, "row \\x, y"), ["row", "y"]);
    }
}
