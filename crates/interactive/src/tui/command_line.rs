//! [`CommandLine`]: the line being typed, and earlier commands.

/// Maximum number of commands in the history.
const KEPT: usize = 200;

/// Editable command line with history.
#[derive(Debug, Default)]
pub(crate) struct CommandLine {
    /// Whether typed letters go to this line.
    pub is_open: bool,
    letters: Vec<char>,
    /// Number of letters before the cursor.
    at: usize,
    /// Earlier commands, oldest first.
    history: Vec<String>,
    /// Index of the shown command in the history; the history's length if none is shown.
    recalled: usize,
}

impl CommandLine {
    /// Returns the text of the line.
    pub fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// Returns the text before the cursor.
    pub fn before(&self) -> String {
        self.letters[..self.at].iter().collect()
    }

    /// Inserts a letter at the cursor.
    pub fn insert(&mut self, letter: char) {
        self.letters.insert(self.at, letter);
        self.at += 1;
    }

    /// Removes the letter before the cursor.
    pub fn erase(&mut self) {
        if let Some(at) = self.at.checked_sub(1) {
            self.letters.remove(at);
            self.at = at;
        }
    }

    /// Removes the letter after the cursor.
    pub fn delete(&mut self) {
        if self.at < self.letters.len() {
            self.letters.remove(self.at);
        }
    }

    /// Removes all text before the cursor.
    pub fn erase_all(&mut self) {
        self.letters.drain(..self.at);
        self.at = 0;
    }

    /// Moves the cursor by `by` letters; negative moves left.
    pub fn go(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.letters.len());
    }

    /// Closes the line and discards its text.
    pub fn close(&mut self) {
        self.put("");
        self.is_open = false;
        self.recalled = self.history.len();
    }

    /// Closes the line, adds its text to the history and returns it.
    pub fn enter(&mut self) -> String {
        let text = self.text();
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
            let beyond = self.history.len().saturating_sub(KEPT);
            self.history.drain(..beyond);
        }
        self.put("");
        self.recalled = self.history.len();
        text
    }

    /// Recalls a command `by` entries later in the history; negative is earlier.
    pub fn recall(&mut self, by: isize) {
        self.recalled = self.recalled.saturating_add_signed(by).min(self.history.len());
        // Default: after the last entry, the line is empty.
        let text = self.history.get(self.recalled).cloned().unwrap_or_default();
        self.put(&text);
    }

    fn put(&mut self, text: &str) {
        self.letters = text.chars().collect();
        self.at = self.letters.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &mut CommandLine, text: &str) {
        text.chars().for_each(|letter| line.insert(letter));
    }

    #[test]
    fn a_line_is_edited() {
        let mut line = CommandLine::default();
        typed(&mut line, "shw m");
        line.go(-3);
        line.insert('o');
        assert_eq!((line.text().as_str(), line.before().as_str()), ("show m", "sho"));
        line.delete();
        line.erase();
        assert_eq!(line.text(), "sh m");
        line.go(-100);
        line.erase();
        line.go(100);
        line.delete();
        assert_eq!(line.text(), "sh m");
        line.erase_all();
        assert_eq!(line.text(), "");
    }

    #[test]
    fn commands_come_back() {
        let mut line = CommandLine::default();
        line.recall(-1);
        assert_eq!(line.text(), "");
        for text in ["a", "b", "b", " "] {
            typed(&mut line, text);
            assert_eq!(line.enter(), text);
        }
        let recalled = [-1, -1, -1, 1, 1, 1].map(|by| {
            line.recall(by);
            line.text()
        });
        assert_eq!(recalled, ["b", "a", "a", "b", "", ""]);
        (0..2 * KEPT).for_each(|number| {
            typed(&mut line, &number.to_string());
            line.enter();
        });
        line.recall(-1000);
        assert_eq!(line.text(), KEPT.to_string());
    }
}
