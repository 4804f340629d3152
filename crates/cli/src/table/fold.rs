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
