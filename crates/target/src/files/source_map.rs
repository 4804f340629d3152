//! [`write_source_map`] and [`read_source_map`]: source positions of the words of a program, in a
//! file next to the words. Messages about words can then name source lines.

use npukit_asm::{SourceLocation, Sources};
use npukit_base::Span;
use serde::{Deserialize, Serialize};

use crate::contract::instance::asm_program::ProgramText;
use crate::files::hash::sha256;

/// Value of the format key in the file.
const FORMAT: &str = "npukit-source-map/1";

/// Why a file cannot be used as source map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The file is not a source map.
    #[error("not a source map: {reason}")]
    Malformed {
        /// Description of the fault.
        reason: String,
    },
    /// The source map belongs to other words.
    #[error("the source map belongs to other words: assemble the text again")]
    Other,
}

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct SourceMap {
    format: String,
    /// Target and instance that the text was assembled for.
    target: String,
    /// SHA-256 of the words, in hexadecimal.
    sha256: String,
    sources: Vec<Source>,
    calls: Vec<Call>,
    /// Position of each word.
    words: Vec<Position>,
}

/// A source text, with its name.
#[derive(Serialize, Deserialize)]
struct Source {
    name: String,
    text: String,
}

/// A macro call, a repetition or an inclusion.
#[derive(Serialize, Deserialize)]
struct Call {
    what: String,
    at: Position,
}

/// Text index, line and column (starting at 1), first byte and one past the last, and the call that
/// inserted the text.
#[derive(Serialize, Deserialize)]
struct Position(usize, usize, usize, usize, usize, Option<usize>);

impl Position {
    fn of(sources: &Sources, lines: &[Vec<usize>], place: SourceLocation) -> Self {
        let (line, column) = position(sources, lines, place);
        Self(place.source(), line, column, place.span.start, place.span.end, place.call())
    }

    fn place(&self, sources: &Sources) -> Result<SourceLocation, MapError> {
        let &Self(source, _, _, start, end, call) = self;
        let place = sources.place(source, Span { start, end }, call);
        place.ok_or_else(|| malformed(format!("text {source} has no bytes {start}..{end}")))
    }
}

/// Returns line and column, starting at 1, given the first bytes of the lines of each text.
fn position(sources: &Sources, lines: &[Vec<usize>], place: SourceLocation) -> (usize, usize) {
    let (starts, text) = (lines.get(place.source()), sources.texts().nth(place.source()));
    let (Some(starts), Some((_, text))) = (starts, text) else { return (0, 0) };
    let line = starts.partition_point(|&start| start <= place.span.start);
    let start = starts.get(line.saturating_sub(1)).copied();
    // Default: no line begins beyond the text.
    let before = start.and_then(|start| text.get(start..place.span.start)).unwrap_or_default();
    (line, before.chars().count() + 1)
}

/// Returns the offsets at which lines begin.
fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect()
}

const fn malformed(reason: String) -> MapError {
    MapError::Malformed { reason }
}

/// Returns the source map of `words` as JSON; `text` is the text that was assembled to them for
/// `target`. `None` if the text does not record positions of words, as in PASM, whose instructions
/// come from a schedule.
pub fn write_source_map(target: &str, words: &[u8], text: &ProgramText) -> Option<Vec<u8>> {
    let ProgramText { sources, places, .. } = text;
    if places.is_empty() {
        return None;
    }
    let lines: Vec<Vec<usize>> = sources.texts().map(|(_, text)| line_starts(text)).collect();
    let at = |place| Position::of(sources, &lines, place);
    let source = |(name, text): (&str, &str)| Source { name: name.to_owned(), text: text.to_owned() };
    let call = |(what, place): (&str, SourceLocation)| Call { what: what.to_owned(), at: at(place) };
    let map = SourceMap {
        format: FORMAT.to_owned(),
        target: target.to_owned(),
        sha256: sha256(words),
        sources: sources.texts().map(source).collect(),
        calls: sources.calls().map(call).collect(),
        words: places.iter().map(|&place| at(place)).collect(),
    };
    let mut bytes = serde_json::to_vec(&map).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

/// Returns the source positions of `words` from `map`, which [`write_source_map`] wrote.
///
/// # Errors
///
/// [`MapError::Malformed`] for bytes that are not a source map, [`MapError::Other`] for the map of
/// other words.
pub fn read_source_map(map: &[u8], words: &[u8]) -> Result<ProgramText, MapError> {
    let map: SourceMap = serde_json::from_slice(map).map_err(|error| malformed(error.to_string()))?;
    if map.format != FORMAT {
        return Err(malformed(format!("`format` is `{}`, not `{FORMAT}`", map.format)));
    }
    if map.sha256 != sha256(words) {
        return Err(MapError::Other);
    }
    let texts = map.sources.into_iter().map(|source| (source.name, source.text));
    let mut sources = Sources::of_texts(texts);
    for Call { what, at } in map.calls {
        // An outer call precedes the calls within it, so cycles are impossible.
        let place = at.place(&sources)?;
        sources.add_call(what, place);
    }
    let places = map.words.iter().map(|at| at.place(&sources)).collect::<Result<_, _>>()?;
    Ok(ProgramText { sources, places, ..ProgramText::default() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Two lines; the first inserted the second.
    fn text() -> ProgramText {
        let texts = [("p.s".to_owned(), "é: x\n  load 5\n".to_owned())];
        let mut sources = Sources::of_texts(texts);
        let call = sources.place(0, Span::new(0, 5), None).unwrap();
        sources.add_call("called".to_owned(), call);
        let place = sources.place(0, Span::new(8, 14), Some(0)).unwrap();
        ProgramText { sources, places: vec![call, place], ..ProgramText::default() }
    }

    #[test]
    fn a_map_gives_the_places_back() {
        let text = text();
        let map = write_source_map("t:preset", &[1, 2], &text).unwrap();
        assert_eq!(read_source_map(&map, &[1, 2]), Ok(text.clone()));
        assert_eq!(read_source_map(&map, &[1, 3]), Err(MapError::Other));
        let json: serde_json::Value = serde_json::from_slice(&map).unwrap();
        assert_eq!(json["words"], serde_json::json!([[0, 1, 1, 0, 5, null], [0, 2, 3, 8, 14, 0]]));
        let (_, line, column) = text.sources.position_of(text.places[1]);
        assert_eq!((line, column), (2, 3));
    }

    #[test]
    fn without_places_there_is_no_map() {
        assert_eq!(write_source_map("t", &[], &ProgramText::default()), None);
    }

    #[test]
    fn damaged_maps_are_refused() {
        let map = String::from_utf8(write_source_map("t", &[], &text()).unwrap()).unwrap();
        for (from, to) in [
            ("source-map/1", "source-map/9"),
            ("[0,1,1,0,5,null]", "[7,1,1,0,5,null]"),
            ("[0,1,1,0,5,null]", "[0,1,1,1,5,null]"),
            ("[0,1,1,0,5,null]", "[0,1,1,0,5,0]"),
            ("[0,2,3,8,14,0]", "[0,2,3,8,14,1]"),
            ("[0,2,3,8,14,0]", "[0,2,3,14,8,0]"),
            ("}", ""),
        ] {
            let damaged = map.replacen(from, to, 1);
            assert_ne!(damaged, map, "{from}");
            let error = read_source_map(damaged.as_bytes(), &[]).unwrap_err();
            assert!(matches!(error, MapError::Malformed { .. }), "{from} {to}: {error}");
        }
    }
}
