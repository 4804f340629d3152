//! [`write_source_map`] and [`read_source_map`]: where the words of a program come from in its text, kept in a file
//! beside them, so that what is wrong with a word is told with its line.

use npukit_asm::{Place, Sources};
use npukit_base::Span;
use serde::{Deserialize, Serialize};

use crate::contract::instance::hand::ProgramText;
use crate::files::hash::sha256;

/// What the file says it is.
const FORMAT: &str = "npukit-source-map/1";

/// Why a file is of no use as a map of words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// It is something else.
    #[error("it is no source map: {reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
    /// It belongs to other words.
    #[error("it is the map of other words: assemble the text again")]
    Other,
}

/// The file.
#[derive(Serialize, Deserialize)]
struct SourceMap {
    format: String,
    /// Target and instance that the text was assembled for.
    target: String,
    /// Of the words, in hexadecimal.
    sha256: String,
    sources: Vec<Source>,
    calls: Vec<Call>,
    /// Of each word.
    words: Vec<Position>,
}

/// A text.
#[derive(Serialize, Deserialize)]
struct Source {
    name: String,
    text: String,
}

/// A macro, a repetition or an inclusion.
#[derive(Serialize, Deserialize)]
struct Call {
    what: String,
    at: Position,
}

/// Text, line and column from 1, first byte and one past the last, and the call that put it there.
#[derive(Serialize, Deserialize)]
struct Position(usize, usize, usize, usize, usize, Option<usize>);

impl Position {
    fn of(sources: &Sources, lines: &[Vec<usize>], place: Place) -> Self {
        let (line, column) = position(sources, lines, place);
        Self(place.source(), line, column, place.span.start, place.span.end, place.call())
    }

    fn place(&self, sources: &Sources) -> Result<Place, MapError> {
        let &Self(source, _, _, start, end, call) = self;
        let place = sources.place(source, Span { start, end }, call);
        place.ok_or_else(|| malformed(format!("bytes {start}..{end} of text {source} are not there")))
    }
}

/// Line and column, from 1, by the first bytes of the lines of each text.
fn position(sources: &Sources, lines: &[Vec<usize>], place: Place) -> (usize, usize) {
    let (starts, text) = (lines.get(place.source()), sources.texts().nth(place.source()));
    let (Some(starts), Some((_, text))) = (starts, text) else { return (0, 0) };
    let line = starts.partition_point(|&start| start <= place.span.start);
    let start = starts.get(line.saturating_sub(1)).copied();
    // Default: no line begins beyond the text.
    let before = start.and_then(|start| text.get(start..place.span.start)).unwrap_or_default();
    (line, before.chars().count() + 1)
}

/// First bytes of lines.
fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect()
}

const fn malformed(reason: String) -> MapError {
    MapError::Malformed { reason }
}

/// The map of `words`, which were assembled of `text` for `target`, as JSON; none where the text does not say where its
/// words come from: PASM, whose instructions are those of a schedule.
pub fn write_source_map(target: &str, words: &[u8], text: &ProgramText) -> Option<Vec<u8>> {
    let ProgramText { sources, places, .. } = text;
    if places.is_empty() {
        return None;
    }
    let lines: Vec<Vec<usize>> = sources.texts().map(|(_, text)| line_starts(text)).collect();
    let at = |place| Position::of(sources, &lines, place);
    let source = |(name, text): (&str, &str)| Source { name: name.to_owned(), text: text.to_owned() };
    let call = |(what, place): (&str, Place)| Call { what: what.to_owned(), at: at(place) };
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

/// Where `words` come from by `map`, which [`write_source_map`] made.
///
/// # Errors
///
/// [`MapError::Malformed`] for bytes that are no map, [`MapError::Other`] for the map of other words.
pub fn read_source_map(map: &[u8], words: &[u8]) -> Result<ProgramText, MapError> {
    let map: SourceMap = serde_json::from_slice(map).map_err(|error| malformed(error.to_string()))?;
    if map.format != FORMAT {
        return Err(malformed(format!("its format is `{}`, not `{FORMAT}`", map.format)));
    }
    if map.sha256 != sha256(words) {
        return Err(MapError::Other);
    }
    let texts = map.sources.into_iter().map(|source| (source.name, source.text));
    let mut sources = Sources::of_texts(texts);
    for Call { what, at } in map.calls {
        // An outer call comes before those within it: none leads around.
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

    /// Two lines, the second put there by the first.
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
