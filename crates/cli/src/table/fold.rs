//! Wrapping of sentences.

use textwrap::{Options, WordSeparator, WordSplitter, wrap};

use super::elide::width;
use super::screen::Screen;

/// Minimum width for wrapping: in narrower space, sentences are easier to read unwrapped.
const LEAST: usize = 16;

/// Wraps a line of a report to the screen, with further lines indented by `indent`. Words are never
/// broken, since they may be paths. Ends in a newline.
pub fn folded(line: &str, indent: usize, screen: Screen) -> String {
    let Some(room) = screen.width.filter(|&room| width(line) > room && room >= indent + LEAST) else {
        return format!("{line}\n");
    };
    let space = " ".repeat(indent);
    let options = options(room).subsequent_indent(&space).break_words(false);
    wrap(line, options).iter().map(|line| format!("{line}\n")).collect()
}

/// Space that the last column of a page needs, in characters.
const COLUMN: usize = 30;

/// Wraps the lines of a reference page to the screen. Further lines of an entry are indented to its
/// last column if that has room, and further lines of a sentence to its margin.
pub fn folded_page(page: &str, screen: Screen) -> String {
    let indent = |line: &str| match line.rfind("  ").map(|gap| width(&line[..gap]) + 2) {
        Some(column) if screen.width.is_some_and(|room| room >= column + COLUMN) => column,
        Some(_) => line.len() - line.trim_start().len(),
        None => 0,
    };
    page.lines().map(|line| folded(line, indent(line), screen)).collect()
}

/// Wraps a cell's text into lines of at most `room` characters.
pub fn lines(text: &str, room: usize) -> Vec<String> {
    if width(text) <= room {
        return vec![text.to_owned()];
    }
    wrap(text, options(room)).iter().map(|line| line.clone().into_owned()).collect()
}

/// Lines are only broken between words, so that options and commands stay intact.
fn options<'a>(room: usize) -> Options<'a> {
    Options::new(room).word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(width: usize, line: &str, indent: usize) -> String {
        folded(line, indent, Screen { width: Some(width), is_unicode: true })
    }

    #[test]
    fn words_and_options_stay_whole() {
        assert_eq!(
            on(22, "help: try it again with --no-limit", 4),
            "help: try it again\n    with --no-limit\n"
        );
        let path = "/a/path/that/is/longer/than/the/screen";
        assert_eq!(on(22, &format!("wrote {path}"), 4), format!("wrote\n    {path}\n"));
    }

    #[test]
    fn entries_of_a_page_are_indented_to_their_last_column() {
        let page = "A sentence without a margin.\n\n  op (1)  the larger of a and of the operand b\n    a list of words without columns\n";
        let screen = Screen { width: Some(40), is_unicode: true };
        let folded = "A sentence without a margin.\n\n  op (1)  the larger of a and of the\n          operand b\n    a list of words without columns\n";
        assert_eq!(folded_page(page, screen), folded);
        assert_eq!(folded_page(page, Screen::default()), page);
        let narrow = Screen { width: Some(24), is_unicode: true };
        assert!(folded_page(page, narrow).contains("  op (1)  the larger of\n  a and of the operand b\n"));
    }

    #[test]
    fn what_fits_and_what_has_no_room_at_all_stays() {
        assert_eq!(on(22, "twenty-two characters.", 4), "twenty-two characters.\n");
        assert_eq!(on(10, "a few words of a sentence", 8), "a few words of a sentence\n");
        assert_eq!(folded("a few words", 0, Screen::default()), "a few words\n");
    }

    #[test]
    fn cells_are_never_wider() {
        assert_eq!(lines("one verylongword", 6), ["one", "verylo", "ngword"]);
        assert_eq!(lines("", 0), [""]);
    }
}
