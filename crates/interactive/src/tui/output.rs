//! [`Output`]: output of commands.

/// Maximum number of stored lines.
const KEPT: usize = 2000;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command.
    Command,
    /// Output of a command.
    Printed,
    /// Reason why a command failed.
    Failure,
}

/// Stored lines and the scroll position.
#[derive(Debug, Default)]
pub(crate) struct Output {
    lines: Vec<(Kind, String)>,
    /// Number of lines below the visible part.
    behind: usize,
}

impl Output {
    /// Appends lines and scrolls to the end.
    pub fn say(&mut self, kind: Kind, text: &str) {
        self.lines.extend(text.lines().map(|line| (kind, line.to_owned())));
        let beyond = self.lines.len().saturating_sub(KEPT);
        self.lines.drain(..beyond);
        self.behind = 0;
    }

    /// Scrolls by `by` lines; positive shows earlier lines.
    pub fn scroll(&mut self, by: isize) {
        self.behind = self.behind.saturating_add_signed(by).min(self.lines.len().saturating_sub(1));
    }

    /// Returns the visible lines, at most `height`.
    pub fn shown(&self, height: usize) -> &[(Kind, String)] {
        let end = (self.lines.len() - self.behind).max(height.min(self.lines.len()));
        &self.lines[end.saturating_sub(height)..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_ends_with_the_last_line_until_one_scrolls() {
        let mut output = Output::default();
        let shown = |output: &Output, height| {
            output.shown(height).iter().map(|(_, line)| line.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&output, 3), "");
        output.say(Kind::Printed, "a\nb\nc\nd\n");
        assert_eq!(shown(&output, 2), "c d");
        assert_eq!(shown(&output, 9), "a b c d");
        output.scroll(1);
        assert_eq!(shown(&output, 2), "b c");
        output.scroll(100);
        assert_eq!(shown(&output, 2), "a b");
        output.scroll(-1000);
        assert_eq!(shown(&output, 2), "c d");
        output.scroll(2);
        output.say(Kind::Failure, "e");
        assert_eq!(shown(&output, 2), "d e");
        (0..2 * KEPT).for_each(|_| output.say(Kind::Printed, "x"));
        assert_eq!(output.shown(usize::MAX).len(), KEPT);
    }
}
