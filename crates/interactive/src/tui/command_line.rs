//! [`CommandLine`]: the command that is typed, and those before it.

/// Commands that are kept.
const KEPT: usize = 200;

/// A line that is edited.
#[derive(Debug, Default)]
pub(crate) struct CommandLine {
    /// Whether letters go to it.
    pub is_open: bool,
    letters: Vec<char>,
    /// Letters before the cursor.
    at: usize,
    /// The last one last.
    history: Vec<String>,
    /// Which of them is on the line; their number for none.
    recalled: usize,
}

impl CommandLine {
    /// What is on it.
    pub fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// What is before the cursor.
    pub fn before(&self) -> String {
        self.letters[..self.at].iter().collect()
    }

    /// Puts a letter at the cursor.
    pub fn insert(&mut self, letter: char) {
        self.letters.insert(self.at, letter);
        self.at += 1;
    }

    /// Takes the letter before the cursor away.
    pub fn erase(&mut self) {
        if let Some(at) = self.at.checked_sub(1) {
            self.letters.remove(at);
            self.at = at;
        }
    }

    /// Takes the letter behind the cursor away.
    pub fn delete(&mut self) {
        if self.at < self.letters.len() {
            self.letters.remove(self.at);
        }
    }

    /// Takes all before the cursor away.
    pub fn erase_all(&mut self) {
        self.letters.drain(..self.at);
        self.at = 0;
    }

    /// Goes so many letters on; back where it is less than 0.
    pub fn go(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.letters.len());
    }

    /// Closes it; what was on it is gone.
    pub fn close(&mut self) {
        self.put("");
        self.is_open = false;
        self.recalled = self.history.len();
    }

    /// The command that is done, for the history.
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

    /// Puts an earlier command on the line, or a later one.
    pub fn recall(&mut self, by: isize) {
        self.recalled = self.recalled.saturating_add_signed(by).min(self.history.len());
        // Default: behind the last one the line is empty.
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
