//! [`Allow`]: comments of a text that allow findings, as `; npu: allow lost-addition`. [`text_target`] is what another such
//! comment says.

use npukit_asm::{Comments, Place, Sources};
use npukit_base::Span;

/// What such a comment begins with.
const COMMAND: &str = "npu:";
/// The command of the linter.
const ALLOW: &str = "allow";
/// The command that names the target of a text, which editors go by.
const TARGET: &str = "target";
/// What the command is called that a text may say it is run with.
const PROGRAM: &str = "npu ";
/// What names the target of such a command.
const OPTION: [&str; 2] = ["--target ", "--target="];
/// What begins comments of any language: of each, the others are no program.
const MARKS: [char; 3] = [';', '#', '/'];

/// A code that a comment allows, or what else the comment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allow {
    /// Which text.
    pub source: usize,
    /// The comment.
    pub span: Span,
    /// The line of the text that it is about, from 0: its own, or the next one with a program in it when it stands alone.
    /// None behind the last one: then it is about what has no line.
    pub line: Option<usize>,
    /// The code; none when the comment is not understood.
    pub code: Result<String, String>,
}

/// All such comments of all texts.
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

/// The codes that a comment allows, or what is wrong with it; none in a comment that is for people. Behind a colon it may
/// say why.
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
        return wrong(&format!("`{COMMAND} {word}` is no command of the linter"));
    };
    let named = rest.split_once(':').map_or(rest, |(codes, _)| codes);
    let codes = named.split([',', ' ', '\t']).map(str::trim).filter(|code| !code.is_empty());
    let codes: Vec<_> = codes.map(|code| Ok(code.to_owned())).collect();
    if codes.is_empty() { wrong("no code is named") } else { codes }
}

/// The first word; none is a word without letters.
fn word_of(text: &str) -> &str {
    // Default: a text of nothing.
    text.split_whitespace().next().unwrap_or_default()
}

/// The target that a text says it is for, and where it does: behind `npu: target` in a comment, else behind `--target` in
/// a comment that shows the command that runs it.
pub fn text_target(text: &str) -> Option<(Span, &str)> {
    let (mut shown, mut start) = (None, 0);
    for line in text.split('\n') {
        if line.contains("npu") {
            let (_, comment) = Comments::COMMON.split(line);
            let said = comment.trim_start_matches(MARKS).trim();
            let placed = |spec: &'_ str| {
                let at = line.len() - comment.len() + comment.find(spec).unwrap_or(0); // Default: it is part of it.
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

/// Where lines begin, and what put others where they are.
pub(super) struct Lines {
    /// By text.
    starts: Vec<Vec<usize>>,
    calls: Vec<Place>,
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

    /// The line of a byte, from 0.
    pub fn line(&self, source: usize, byte: usize) -> usize {
        // Default: a text that is not there has no lines.
        let starts = self.starts.get(source).map(Vec::as_slice).unwrap_or_default();
        starts.partition_point(|&start| start <= byte).saturating_sub(1)
    }

    /// The lines that a place lies in, then those that put it there: the call of a macro, for instance. Each with its text.
    pub fn around(&self, place: Place) -> impl Iterator<Item = (usize, usize)> {
        let caller = |place: &Place| self.calls.get(place.call()?).copied();
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
