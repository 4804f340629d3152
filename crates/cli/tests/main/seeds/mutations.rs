//! Changes that make the statements of `tests/seeds/README.md` false: their rows must then fail.
//!
//! Words of a listing, expectations of a program, arrays to compare with and rejections of a value
//! yield mutations automatically; `tests/seeds/mutations.toml` has the mutations of every
//! other row, and more.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{GAP, Outcome, ROOT, Row, Run, is_in, outcomes, seeds, spaced};

/// Replacement in a row's command, or in a file that it reads.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Given {
    /// Pairs of texts and their replacements: each is a mutation.
    Texts(Vec<(String, String)>),
    /// Bit to flip in a 64-bit word of the file.
    Bit { file: String, word: usize, bit: usize },
}

/// Row's command with a change that makes the row false.
#[derive(Debug)]
struct Mutation {
    what: String,
    run: Run,
    /// Expected output with the change.
    prints: &'static str,
}

impl Mutation {
    fn new(what: String, run: Run) -> Self {
        Mutation { what, run, prints: "" }
    }

    /// Returns why a row does not fail, or fails for another reason than the change.
    fn survives(&self, row: &Row, outcome: &Outcome) -> Option<String> {
        let survives = if row.lacks(outcome).is_none() { "holds also" } else { "fails otherwise" };
        let is_due = survives == "holds also" || !outcome.printed.contains(self.prints);
        is_due.then(|| format!("{}: {survives} {}: {}", row.id, self.what, self.run.command))
    }
}

fn given() -> BTreeMap<String, Given> {
    let text = fs::read_to_string(Path::new(ROOT).join("tests/seeds/mutations.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

/// Returns the files of the repository that a command names, of one kind.
fn files<'a>(command: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let words =
        command.split([' ', ';', ':', '=']).filter(move |word| word.contains('/') && word.ends_with(kind));
    words.filter(|word| Path::new(ROOT).join(word).is_file())
}

fn read(path: &str) -> Vec<u8> {
    fs::read(Path::new(ROOT).join(path)).unwrap()
}

/// Returns the lines of a text, with their line ends.
fn lines(path: &str) -> Vec<String> {
    String::from_utf8(read(path)).unwrap().lines().map(|line| format!("{line}\n")).collect()
}

/// Returns a command that reads other bytes instead of a file.
fn with(command: &str, path: &str, bytes: impl Into<Vec<u8>>) -> Run {
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    Run { command: command.replace(path, name), files: vec![(name.to_owned(), bytes.into())] }
}

/// Returns a listing without the lines that the row expects: it must not print them.
fn listed(row: &Row, command: &str) -> Vec<Mutation> {
    let Some(path) = files(command, ".s").next().filter(|_| command.contains("--listing -")) else {
        return Vec::new();
    };
    let texts = row.prints.iter().filter_map(|wanted| wanted.rsplit_once(GAP)).map(|(_, text)| spaced(text));
    let without = |text: String| {
        let kept = lines(path).into_iter().filter(|line| !spaced(line).contains(&text));
        Mutation::new(format!("without `{text}`"), with(command, path, kept.collect::<String>()))
    };
    texts.map(without).collect()
}

/// Returns a program with another value in one expectation: it must fail.
fn expected(command: &str) -> Vec<Mutation> {
    let of_line = |path, index: usize| {
        let mut changed = lines(path);
        changed[index] = other_value(&changed[index])?;
        let what = format!("with {}", changed[index].trim());
        Some(Mutation {
            prints: "failed: line",
            ..Mutation::new(what, with(command, path, changed.concat()))
        })
    };
    let of_file = |path| (0..lines(path).len()).filter_map(move |index| of_line(path, index));
    files(command, ".s").flat_map(of_file).collect()
}

/// Returns an expectation with another first digit in its last value.
fn other_value(line: &str) -> Option<String> {
    let values = line.strip_prefix(".expect")?.split([';', '#']).next()?.trim_end();
    let value = values.rsplit(',').next()?.trim_start_matches([' ', '-']);
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let at = ".expect".len() + values.len() - digits.len();
    Some(format!("{}{}{}", &line[..at], other_digit(&digits[..1]), &line[at + 1..]))
}

/// Returns another digit, hexadecimal if it was.
fn other_digit(digit: &str) -> String {
    format!("{:x}", u8::from_str_radix(digit, 16).unwrap() ^ 1)
}

/// Returns an array to compare with a changed last element: it must differ.
fn compared(command: &str) -> Vec<Mutation> {
    let arrays = command.split("--compare=").skip(1).filter_map(|behind| files(behind, ".npy").next());
    let other = |path| {
        let mut bytes = read(path);
        *bytes.last_mut().unwrap() ^= 0x40;
        let what = format!("with another element in {path}");
        Mutation { prints: "failed: the board's", ..Mutation::new(what, with(command, path, bytes)) }
    };
    arrays.map(other).collect()
}

/// Returns a program with the nearest legal value instead of a rejected one: it must not be
/// rejected.
fn refused(row: &Row, command: &str) -> Vec<Mutation> {
    let Some((before, printf)) = command.split_once("printf") else { return Vec::new() };
    let refusals = row.prints.iter().filter_map(|wanted| wanted.split_once(" does not fit: legal are "));
    let legal = |(value, legal): (&str, &str)| {
        let number = |text: &str| text.trim().parse::<i64>().unwrap();
        let values = legal.split(',').flat_map(|part| part.split(" to ")).map(number);
        let nearest = values.min_by_key(|legal| legal.abs_diff(number(value))).unwrap();
        let printf = replaced_number(printf, value, &nearest.to_string());
        let command = format!("{before}printf{printf}");
        Mutation::new(format!("with {nearest} for {value}"), Run { command, files: Vec::new() })
    };
    refusals.map(legal).collect()
}

/// Returns a text with a number replaced, if it is not part of a longer number or a name.
fn replaced_number(text: &str, from: &str, to: &str) -> String {
    let is_part =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '-');
    let mut changed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (&rest[..at], &rest[at + from.len()..]);
        let is_whole = !is_part(before.chars().next_back()) && !is_part(behind.chars().next());
        changed = changed + before + if is_whole { to } else { from };
        rest = behind;
    }
    changed + rest
}

/// Returns the mutations of a row in `tests/seeds/mutations.toml`.
fn from_given(id: &str, command: &str, given: &Given) -> Vec<Mutation> {
    match given {
        Given::Bit { file, word, bit } => {
            let mut bytes = read(file);
            bytes[8 * word + bit / 8] ^= 1 << (bit % 8);
            vec![Mutation::new(format!("with bit {bit} turned over"), with(command, file, bytes))]
        }
        Given::Texts(texts) => texts.iter().map(|(from, to)| replaced(id, command, from, to)).collect(),
    }
}

/// Returns a command with `to` instead of `from`, in itself or otherwise in the first file that
/// contains it.
fn replaced(id: &str, command: &str, from: &str, to: &str) -> Mutation {
    let what = format!("with `{to}` for `{from}`");
    if command.contains(from) {
        return Mutation::new(what, Run { command: command.replace(from, to), files: Vec::new() });
    }
    let texts = [".s", ".tarch"].into_iter().flat_map(|kind| files(command, kind));
    let mut texts = texts.map(|path| (path, lines(path).concat()));
    let found = texts.find(|(_, text)| text.contains(from));
    let (path, text) = found.unwrap_or_else(|| panic!("{id}: nothing has `{from}`"));
    Mutation::new(what, with(command, path, text.replace(from, to)))
}

/// Returns the automatic and the given mutations of a row.
fn mutations(row: &Row, given: Option<&Given>) -> Vec<Mutation> {
    let Some(command) = row.command.as_deref() else { return Vec::new() };
    let own = [listed(row, command), expected(command), compared(command), refused(row, command)];
    own.into_iter()
        .flatten()
        .chain(given.into_iter().flat_map(|given| from_given(&row.id, command, given)))
        .collect()
}

/// Every row with a command fails if its statement is made false.
#[test]
fn every_statement_of_the_seeds_can_fail() {
    let (seeds, mut given) = (seeds(), given());
    let rows: Vec<&Row> =
        seeds.iter().flat_map(|seed| &seed.rows).filter(|row| row.command.is_some()).collect();
    let of_rows: Vec<(&Row, Vec<Mutation>)> =
        rows.into_iter().map(|row| (row, mutations(row, given.remove(&row.id).as_ref()))).collect();
    let unknown = given.keys().map(|id| format!("{id}: tests/seeds/mutations.toml has no row of a command"));
    let bare = of_rows.iter().filter(|(_, mutations)| mutations.is_empty());
    let bare = bare.map(|(row, _)| format!("{}: nothing makes it false: tests/seeds/mutations.toml", row.id));
    let all = || of_rows.iter().flat_map(|(row, all)| all.iter().map(move |mutation| (*row, mutation)));
    let outcomes = outcomes(all().map(|(_, mutation)| mutation.run.clone()));
    let survivors = all().filter_map(|(row, mutation)| mutation.survives(row, &outcomes[&mutation.run]));
    let failures: Vec<String> = unknown.chain(bare).chain(survivors).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// No listing contains the text that a row expects after a word with one changed digit.
#[test]
fn words_of_the_seeds_are_printed_to_the_digit() {
    let seeds = seeds();
    let is_listing = |row: &&Row| row.command.as_ref().is_some_and(|command| command.contains("--listing -"));
    let listings = || seeds.iter().flat_map(|seed| &seed.rows).filter(is_listing);
    let outcomes = outcomes(listings().filter_map(Row::run));
    for row in listings() {
        let printed = &outcomes[&row.run().unwrap()].printed;
        for (word, text) in row.prints.iter().filter_map(|wanted| wanted.split_once(GAP)) {
            let (word, text) = (word.trim(), text.trim());
            let lines = || printed.lines().filter(|line| line.ends_with(text));
            for at in 0..word.len() {
                let other = format!("{}{}{}", &word[..at], other_digit(&word[at..=at]), &word[at + 1..]);
                assert!(!lines().any(|line| is_in(line, &other)), "{}: {other} {text}", row.id);
            }
        }
    }
}
