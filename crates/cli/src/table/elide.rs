//! Shortening of names: the common prefix of all names is omitted first, then the middle of each.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Shortens names to at most `room` characters each, with `ellipsis` for omitted text.
pub fn elide(names: &[&str], room: usize, ellipsis: &str) -> Vec<String> {
    let is_wide = names.iter().any(|name| width(name) > room);
    let common = if is_wide { common(names) } else { 0 };
    let short = |name: &str| match name.get(common..) {
        Some(rest) if common > ellipsis.len() => format!("{ellipsis}{rest}"),
        _ => name.to_owned(),
    };
    names.iter().map(|name| middle_out(&short(name), room, ellipsis)).collect()
}

/// Returns the width of a text on the screen, in characters.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns the maximum width of a character, also in combination with others; variation selectors
/// are escaped before.
fn width_of(c: char) -> usize {
    c.width().unwrap_or_default() // Default: control characters have width 0.
}

/// Returns the number of bytes of the names' common prefix, up to a separator; 0 if there are fewer
/// than two names.
fn common(names: &[&str]) -> usize {
    let [first, others @ ..] = names else { return 0 };
    let alike = |name: &&str| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let length = others.iter().map(alike).min().unwrap_or(0);
    first.as_bytes().iter().take(length).rposition(|byte| is_separator(*byte as char)).unwrap_or(0)
}

/// Omits the middle of a name, with cuts at separators if enough of it remains.
fn middle_out(name: &str, room: usize, ellipsis: &str) -> String {
    if width(name) <= room {
        return name.to_owned();
    }
    let rest = room.saturating_sub(width(ellipsis));
    if rest < 2 {
        return name[..fitting(name.chars(), room)].to_owned();
    }
    let head = &name[..fitting(name.chars(), rest.div_ceil(2))];
    let head =
        head.rfind(is_separator).map(|at| &head[..=at]).filter(|cut| is_enough(cut, head)).unwrap_or(head);
    let tail = &name[name.len() - fitting(name.chars().rev(), rest - width(head))..];
    let tail =
        tail.find(is_separator).map(|at| &tail[at..]).filter(|cut| is_enough(cut, tail)).unwrap_or(tail);
    format!("{head}{ellipsis}{tail}")
}

/// Returns how many bytes of the first characters fit.
pub fn fitting(chars: impl Iterator<Item = char>, room: usize) -> usize {
    let mut taken = 0;
    let fits = |c: &char| {
        taken += width_of(*c);
        taken <= room
    };
    chars.take_while(fits).map(char::len_utf8).sum()
}

/// Whether a character separates the parts of a name; separators have one byte.
fn is_separator(c: char) -> bool {
    c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_'
}

/// Whether a cut at a separator keeps most of a part.
fn is_enough(cut: &str, part: &str) -> bool {
    width(cut) * 2 > width(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, room: usize) -> String {
        elide(&[name], room, "…").concat()
    }

    #[test]
    fn the_middle_goes() {
        assert_eq!(one("conv1", 5), "conv1");
        assert_eq!(one("abcdefghij", 7), "abc…hij");
        assert_eq!(one("abcdefghij", 8), "abcd…hij");
        assert_eq!(elide(&["abcdefghij"], 8, ".."), ["abc..hij"]);
    }

    #[test]
    fn cuts_are_at_separators() {
        assert_eq!(one("/layer3/block1/part2/conv2", 16), "/layer3/…/conv2");
        assert_eq!(one("s0b0_sc+s0b0_c3+s0b0_add+s0b1_bn1+s0b1_relu1", 22), "s0b0_sc+…+s0b1_relu1");
    }

    #[test]
    fn what_all_begin_with_goes_first() {
        let names = ["model/part1/conv1", "model/part2/conv1"];
        assert_eq!(elide(&names, 13, "…"), ["…/part1/conv1", "…/part2/conv1"]);
        assert_eq!(elide(&names, 17, "…"), names);
        assert_eq!(elide(&["model1", "model2"], 5, "…"), ["mo…l1", "mo…l2"]);
    }

    #[test]
    fn wide_characters_count_as_what_they_take() {
        assert_eq!(one("層層層層層層", 7), "層…層層");
        assert_eq!(one("🚀🚀🚀🚀", 5), "🚀…🚀");
    }

    #[test]
    fn hardly_any_room_leaves_the_beginning() {
        assert_eq!((one("abc", 2), one("abc", 1), one("abc", 0)), ("ab".into(), "a".into(), String::new()));
        assert_eq!(one("層層", 1), "");
    }
}
