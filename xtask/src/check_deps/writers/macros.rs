//! Text-based search for values that macros insert into texts ([`macros`]) and for definitions of
//! names ([`bindings`]).

/// Macros that insert values into a text.
const NAMES: [&str; 4] = ["format!(", "format_args!(", "write!(", "writeln!("];

/// A macro call that makes a text.
pub(super) struct Macro {
    /// Start of the call, as a byte offset.
    pub start: usize,
    /// Format string as written.
    pub format: String,
    /// Arguments after the format string.
    arguments: Vec<String>,
}

/// A `let` binding of a name.
pub(super) struct Binding {
    /// Start of the binding, as a byte offset.
    start: usize,
    pub name: String,
    /// Value as written.
    pub value: String,
}

impl Macro {
    /// Inserted values, each with its format specification.
    pub fn put_in(&self) -> Vec<(String, String)> {
        let plain = self.format.replace("{{", "").replace("}}", "");
        let mut arguments = self.arguments.iter();
        let places = plain.split('{').skip(1).filter_map(|part| part.split('}').next());
        let value = |place: &str| {
            let (name, spec) = place.split_once(':').unwrap_or((place, ""));
            let value = match (name.is_empty(), name.parse::<usize>()) {
                (true, _) => arguments.next(),
                (_, Ok(index)) => self.arguments.get(index),
                (_, Err(_)) => return (name.to_owned(), spec.to_owned()),
            };
            // Default: the compiler reports a placeholder without a value.
            let value = value.cloned().unwrap_or_default();
            (value, spec.to_owned())
        };
        places.map(value).collect()
    }

    /// Value of a named argument of the macro.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.arguments
            .iter()
            .find_map(|argument| argument.strip_prefix(name)?.trim_start().strip_prefix("= "))
    }
}

/// Macro calls of a source, including nested ones.
pub(super) fn macros(code: &str) -> Vec<Macro> {
    let starts = NAMES.iter().flat_map(|name| code.match_indices(name));
    // `format!(` must not be the end of a longer name.
    let is_whole = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut found: Vec<Macro> = starts
        .filter(|(at, _)| is_whole(*at))
        .filter_map(|(start, name)| {
            let parts = parts(until(&code[start + name.len()..], ')'));
            let at = parts.iter().position(|part| part.starts_with('"'))?;
            let arguments = parts[at + 1..].iter().map(|part| (*part).to_owned()).collect();
            Some(Macro { start, format: parts[at].to_owned(), arguments })
        })
        .collect();
    found.sort_by_key(|found| found.start);
    found
}

/// Bindings of a source. Names of a tuple get its values if their numbers are equal, otherwise the
/// whole value.
pub(super) fn bindings(code: &str) -> Vec<Binding> {
    let lets = code.match_indices("let ").filter_map(|(at, word)| {
        let (pattern, value) = code[at + word.len()..].split_once(" = ")?;
        Some((at, pattern.split(": ").next()?, until(value, ';').trim()))
    });
    lets.flat_map(|(at, pattern, value)| {
        let inner = |text: &str| Some(text.strip_prefix('(')?.strip_suffix(')')?.to_owned());
        let (names, values) = (inner(pattern), inner(value));
        let pairs =
            names.as_deref().zip(values.as_deref()).map(|(names, values)| (parts(names), parts(values)));
        match pairs.filter(|(names, values)| names.len() == values.len()) {
            Some((names, values)) => {
                names.iter().zip(values).map(|(name, value)| binding(at, name, value)).collect()
            }
            None => words(pattern).map(|name| binding(at, name, value)).collect::<Vec<_>>(),
        }
    })
    .collect()
}

impl Binding {
    /// Whether the binding precedes `place` and is in the same function of `code`.
    pub fn is_seen_from(&self, place: usize, code: &str) -> bool {
        let function = code[..place].rfind("fn ").unwrap_or(0);
        (function..place).contains(&self.start)
    }
}

fn binding(start: usize, name: &str, value: &str) -> Binding {
    Binding { start, name: name.trim_start_matches("mut ").to_owned(), value: value.to_owned() }
}

fn words(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Text before `end`, outside of brackets and texts.
fn until(code: &str, end: char) -> &str {
    let place = outside(code).find(|&(_, c, depth)| c == end && depth == 0).map(|(place, ..)| place);
    place.map_or(code, |place| &code[..place])
}

/// Text between commas that are outside of brackets and texts.
fn parts(code: &str) -> Vec<&str> {
    let commas = outside(code).filter(|&(_, c, depth)| c == ',' && depth == 0).map(|(place, ..)| place);
    let mut parts = Vec::new();
    let mut start = 0;
    for comma in commas.chain([code.len()]) {
        parts.push(code[start..comma].trim());
        start = (comma + 1).min(code.len());
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Characters outside of texts, each with its offset and the number of open brackets.
fn outside(code: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let (mut is_text, mut is_escape, mut depth, mut skip) = (false, false, 0usize, 0);
    code.char_indices().filter_map(move |(place, c)| {
        if place < skip {
            return None;
        }
        if is_text {
            is_text = is_escape || c != '"';
            is_escape = c == '\\' && !is_escape;
            return None;
        }
        // A character literal; a single quote without an end is a lifetime.
        let rest = &code[place..];
        if let Some(end) = ["'\"'", "'('", "')'", "','", "';'", "'{'", "'}'", "'\\''"]
            .iter()
            .find(|of| rest.starts_with(**of))
        {
            skip = place + end.len();
            return None;
        }
        let around = depth;
        match c {
            '"' => is_text = true,
            '(' | '[' | '{' => depth += 1,
            // An unmatched closing bracket is at the outermost level.
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((place, c, around))
    })
}
