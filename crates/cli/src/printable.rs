//! Text for a terminal: [`printable`], a [`line`](line()), and [`json`].

use npukit::is_printable;
use serde_json::Value;

use crate::table::{Screen, folded};
pub use npukit::{on_a_line, printable};

/// Returns a text as one line, with escaped control characters; it is wrapped if the screen is too
/// narrow.
pub fn line(text: &str) -> String {
    const INDENT: usize = 4;
    folded(&on_a_line(text), INDENT, Screen::current())
}

/// Formats JSON so that a terminal can show it, too: control characters and direction marks that
/// JSON does not escape are escaped in strings.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    for c in format!("{value:#}\n").chars() {
        if is_printable(c) || c == '\n' {
            out.push(c);
        } else {
            out += &format!("\\u{:04x}", u32::from(c));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_same_to_programs() {
        let name = "a\u{1b}\u{7f}\u{9b}\u{202e}\"\n\u{e9}";
        let value = serde_json::json!({ name: [name] });
        let text = json(&value);
        assert!(text.contains(r#""a\u001b\u007f\u009b\u202e\"\né""#), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}
