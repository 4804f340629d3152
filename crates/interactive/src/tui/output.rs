//! [`Output`]: what commands have printed.

/// Lines that are kept.
const KEPT: usize = 2000;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command.
    Command,
    /// What one prints.
    Printed,
    /// Why one could not be done.
    Failure,
}

/// The lines, and how far back one looks.
#[derive(Debug, Default)]
pub(crate) struct Output {
    lines: Vec<(Kind, String)>,
    /// Lines behind the last that is shown.
    behind: usize,
}

impl Output {
    /// Adds lines, and shows the last.
    pub fn say(&mut self, kind: Kind, text: &str) {
        self.lines.extend(text.lines().map(|line| (kind, line.to_owned())));
        let beyond = self.lines.len().saturating_sub(KEPT);
        self.lines.drain(..beyond);
        self.behind = 0;
    }

    /// Looks at earlier lines, or at later ones.
    pub fn scroll(&mut self, by: isize) {
        self.behind = self.behind.saturating_add_signed(by).min(self.lines.len().saturating_sub(1));
    }

    /// So many lines, the last of which is shown at the bottom.
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
