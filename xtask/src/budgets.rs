//! [`lowered`]: files of budgets, numbers that may only decrease.

/// Returns the text of a file of budgets, with each number that exceeds its count lowered to it.
/// `count` takes the table, which is empty at the head of the file, and the key. Budgets that fall
/// to 0 are removed, and tables without any.
pub fn lowered(text: &str, count: impl Fn(&str, &str) -> usize) -> String {
    let mut paragraphs = Vec::new();
    for paragraph in text.trim_end().split("\n\n") {
        let mut table = "";
        let mut lines = Vec::new();
        for line in paragraph.lines() {
            if let Some(name) = line.strip_prefix('[') {
                table = name.trim_end_matches(']').trim_matches('"');
            }
            let entry =
                line.split_once(" = ").and_then(|(key, most)| Some((key, most.parse::<usize>().ok()?)));
            match entry {
                None => lines.push(line.to_owned()),
                Some((key, most)) => match most.min(count(table, key)) {
                    0 if most > 0 => {}
                    least => lines.push(format!("{key} = {least}")),
                },
            }
        }
        if table.is_empty() || lines.len() > 1 {
            paragraphs.push(lines.join("\n"));
        }
    }
    paragraphs.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::lowered;

    #[test]
    fn budgets_only_fall_and_what_falls_to_zero_is_removed() {
        let text =
            "# Why.\n\n# All.\na = 5\nzero = 0\n\n[docs]\nstand = 2\nlie = 1\n\n[\"crates/a\"]\nwho = 1\n";
        let count = |table: &str, key: &str| match (table, key) {
            ("", "a") => 3,
            ("", "zero") => 2,
            ("docs", "stand") => 9,
            _ => 0,
        };
        assert_eq!(lowered(text, count), "# Why.\n\n# All.\na = 3\nzero = 0\n\n[docs]\nstand = 2\n");
    }
}
