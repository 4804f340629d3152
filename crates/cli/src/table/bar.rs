//! Bars for shares.

/// Length of a full bar, in characters.
const LENGTH: usize = 8;
/// Eighths of a character, starting at 0.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns a bar for `value`, full for `largest`: in eighths of a character, or in whole ones with
/// ASCII.
pub fn bar(value: f64, largest: f64, is_unicode: bool) -> String {
    let steps = if is_unicode { LENGTH * PARTS.len() } else { LENGTH };
    let share = (value / largest).clamp(0.0, 1.0);
    // The cast of a NaN gives 0.
    let length = (share * steps as f64).round() as usize;
    if !is_unicode {
        return "#".repeat(length);
    }
    "█".repeat(length / PARTS.len()) + PARTS[length % PARTS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_eighths_of_characters() {
        for (value, text) in
            [(0.0, ""), (1.0, "▏"), (7.0, "▉"), (8.0, "█"), (36.0, "████▌"), (64.0, "████████")]
        {
            assert_eq!(bar(value, 64.0, true), text);
        }
    }

    #[test]
    fn bars_of_ascii_are_whole_characters() {
        assert_eq!((bar(0.5, 1.0, false), bar(0.01, 1.0, false)), ("####".to_owned(), String::new()));
    }

    #[test]
    fn what_is_no_share_has_no_bar_or_a_whole_one() {
        assert_eq!((bar(0.0, 0.0, true), bar(f64::NAN, 1.0, true), bar(-1.0, 1.0, true)), Default::default());
        assert_eq!(bar(9.0, 1.0, false), "########");
    }
}
