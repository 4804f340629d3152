//! [`Allow`]: comments of a text that allow findings, such as `; npu: allow lost-addition`.
//! [`text_target`] reads the target that a text names.

use npukit_asm::{Comments, SourceLocation, Sources};
use npukit_base::Span;

/// Prefix of a comment that is a command.
const COMMAND: &str = "npu:";
/// Command that allows findings.
const ALLOW: &str = "allow";
/// Command that names the target of a text, for editors.
const TARGET: &str = "target";
/// Prefix of a shell command in a comment that shows how to run the text.
const PROGRAM: &str = "npu ";
/// Options that name the target in such a shell command.
const OPTION: [&str; 2] = ["--target ", "--target="];
/// Characters that begin a comment in some language; in each language, the others cannot begin an
/// instruction.
const MARKS: [char; 3] = [';', '#', '/'];

/// One allowed code of a comment, or the fault of the comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allow {
    /// Index of the text.
    pub source: usize,
    /// Byte range of the comment.
    pub span: Span,
    /// Line of the text that the comment applies to, starting at 0: its own, or the next one with
    /// an instruction if the comment is alone on its line. `None` after the last instruction; the
    /// comment then applies to findings without a line.
    pub line: Option<usize>,
    /// The allowed code, or the description of the fault.
    pub code: Result<String, String>,
}

/// Returns all allowing comments of all texts.
pub(super) fn allows(sources: &Sources) -> Vec<Allow> {
    let texts = sources.texts().enumerate();
    texts.flat_map(|(source, (_, text))| of_text(source, text)).collect()
}

fn of_text(source: usize, text: &str) -> Vec<Allow> {
    if !text.contains(COMMAND) {
        return Vec::new();
    }
    let (mut all, mut waiting, mut start) = (Vec::new(), 0, 0);
    for (number, line) in text.split('\n').enumerate() {
        let (program, comment) = Comments::COMMON.split(line);
        let span = Span { start: start + program.len(), end: start + line.trim_end().len() };
        let codes = codes(comment);
        all.extend(codes.into_iter().map(|code| Allow { source, span, line: None, code }));
        if !program.trim().is_empty() {
            all.iter_mut().skip(waiting).for_each(|allow: &mut Allow| allow.line = Some(number));
            waiting = all.len();
        }
        start += line.len() + 1;
    }
    all
}

/// Returns the codes that a comment allows, or its fault; empty for an ordinary comment. A reason
/// may follow after a colon.
fn codes(comment: &str) -> Vec<Result<String, String>> {
    let said = comment.trim_start_matches(MARKS).trim();
    let Some(command) = said.strip_prefix(COMMAND) else { return Vec::new() };
    let wrong = |what: &str| vec![Err(format!("{what}: write `npu: allow CODE`"))];
    let command = command.trim_start();
    if word_of(command) == TARGET {
        return Vec::new();
    }
    let rest = command.strip_prefix(ALLOW).filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
    let Some(rest) = rest else {
        let word = word_of(command);
        return wrong(&format!("`{COMMAND} {word}` is not a command of the linter"));
    };
    let named = rest.split_once(':').map_or(rest, |(codes, _)| codes);
    let codes = named.split([',', ' ', '\t']).map(str::trim).filter(|code| !code.is_empty());
    let codes: Vec<_> = codes.map(|code| Ok(code.to_owned())).collect();
    if codes.is_empty() { wrong("the code is missing") } else { codes }
}

/// Returns the first word, without punctuation.
fn word_of(text: &str) -> &str {
    // Default: an empty text has no word.
    text.split_whitespace().next().unwrap_or_default()
}

/// Returns the target that a text names, with its position. It follows `npu: target` in a comment,
/// or otherwise `--target` in a comment that shows how to run the text.
pub fn text_target(text: &str) -> Option<(Span, &str)> {
    let (mut shown, mut start) = (None, 0);
    for line in text.split('\n') {
        if line.contains("npu") {
            let (_, comment) = Comments::COMMON.split(line);
            let said = comment.trim_start_matches(MARKS).trim();
            let placed = |spec: &'_ str| {
                let at = line.len() - comment.len() + comment.find(spec).unwrap_or(0); // Default: never used, `spec` is part of `comment`.
                Span::new(start + at, start + at + spec.len())
            };
            let named = said.strip_prefix(COMMAND).map(str::trim_start);
            let named = named.and_then(|command| command.strip_prefix(TARGET));
            if let Some(rest) = named.filter(|rest| rest.starts_with(char::is_whitespace)) {
                let spec = word_of(rest);
                if !spec.is_empty() {
                    return Some((placed(spec), spec));
                }
            }
            if shown.is_none() && said.starts_with(PROGRAM) {
                let rest = OPTION.iter().find_map(|option| Some(said.split_once(option)?.1));
                let spec = rest.map(word_of).filter(|spec| !spec.is_empty());
                shown = spec.map(|spec| (placed(spec), spec));
            }
        }
        start += line.len() + 1;
    }
    shown
}

/// Offsets of the lines of all texts, and the calls that inserted texts.
pub(super) struct Lines {
    /// Line offsets, by text.
    starts: Vec<Vec<usize>>,
    calls: Vec<SourceLocation>,
}

impl Lines {
    pub fn of(sources: &Sources) -> Self {
        let starts =
            |text: &str| std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect();
        Self {
            starts: sources.texts().map(|(_, text)| starts(text)).collect(),
            calls: sources.calls().map(|(_, place)| place).collect(),
        }
    }

    /// Returns the line of a byte, starting at 0.
    pub fn line(&self, source: usize, byte: usize) -> usize {
        // Default: a missing text has no lines.
        let starts = self.starts.get(source).map(Vec::as_slice).unwrap_or_default();
        starts.partition_point(|&start| start <= byte).saturating_sub(1)
    }

    /// Returns the lines of a place, then the lines that inserted them, for example a macro call.
    /// Each is a pair of text and line.
    pub fn around(&self, place: SourceLocation) -> impl Iterator<Item = (usize, usize)> {
        let caller = |place: &SourceLocation| self.calls.get(place.call()?).copied();
        std::iter::successors(Some(place), caller).flat_map(|place| {
            let Span { start, end } = place.span;
            let lines = self.line(place.source(), start)
                ..=self.line(place.source(), end.saturating_sub(1).max(start));
            lines.map(move |line| (place.source(), line))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_codes() {
        let ok = |codes: &[&str]| codes.iter().map(|code| Ok((*code).to_owned())).collect::<Vec<_>>();
        assert_eq!(codes("; npu: allow lost-addition"), ok(&["lost-addition"]));
        assert_eq!(codes("# npu:allow a, b c: because: of d"), ok(&["a", "b", "c"]));
        assert_eq!(codes("; npu is good, allow it"), ok(&[]));
        for wrong in ["; npu: allow", "; npu: alow a", "; npu: allowed a", "// npu:", "; npu: allow : why"] {
            assert!(matches!(&codes(wrong)[..], [Err(_)]), "{wrong}");
        }
    }

    #[test]
    fn a_text_names_its_target() {
        let spec = |text: &str| {
            text_target(text).map(|(span, spec)| {
                assert_eq!(&text[span.start..span.end], spec);
                spec.to_owned()
            })
        };
        let some = |spec: &str| Some(spec.to_owned());
        assert_eq!(spec("go\n; é npu\n; npu: target a:b because\n"), some("a:b"));
        assert_eq!(spec("# npu run x.s --target a:b,c=1\n"), some("a:b,c=1"));
        assert_eq!(spec("# npu run x.s --target=a\n// npu: target b"), some("b"));
        assert_eq!(spec("npu: target a\n; npu: targets b\n; npu: target\n; npu run x.s --target"), None);
        assert_eq!(codes("; npu: target a:b"), []);
    }

    #[test]
    fn a_comment_is_about_its_line_or_the_next() {
        let text = "go ; npu: allow a\n\n; npu: allow b\n# words\n  # npu: allow c\ngo\r\n; npu: allow d\n";
        let lines: Vec<Option<usize>> = of_text(0, text).iter().map(|allow| allow.line).collect();
        assert_eq!(lines, [Some(0), Some(5), Some(5), None]);
        let spans = of_text(0, text).into_iter().map(|allow| &text[allow.span.start..allow.span.end]);
        assert!(spans.eq(["; npu: allow a", "; npu: allow b", "# npu: allow c", "; npu: allow d"]));
        assert_eq!(of_text(0, ".include \"; npu: allow a\""), []);
    }
}
