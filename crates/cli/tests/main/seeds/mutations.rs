//! What makes the statements of `docs/seeds.md` false: their rows must then fail.
//!
//! Words of a listing, expectations of a program, arrays to compare with and refusals of a value make mutations of
//! their own; `docs/seeds/mutations.toml` has those of every other row, and more.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{GAP, Outcome, ROOT, Row, Run, is_in, outcomes, seeds, spaced};

/// What a row's command or a file that it reads has instead.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Given {
    /// Texts and those in their places: each a mutation.
    Texts(Vec<(String, String)>),
    /// The bit that is turned over of a word of 64 bits of the file.
    Bit { file: String, word: usize, bit: usize },
}

/// A row's command with something changed, so that what the row says is false.
#[derive(Debug)]
struct Mutation {
    what: String,
    run: Run,
    /// What it prints then.
    prints: &'static str,
}

impl Mutation {
    fn new(what: String, run: Run) -> Self {
        Mutation { what, run, prints: "" }
    }

    /// Why a row does not fail, or not for what was changed.
    fn survives(&self, row: &Row, outcome: &Outcome) -> Option<String> {
        let survives = if row.lacks(outcome).is_none() { "holds also" } else { "fails otherwise" };
        let is_due = survives == "holds also" || !outcome.printed.contains(self.prints);
        is_due.then(|| format!("{}: {survives} {}: {}", row.id, self.what, self.run.command))
    }
}

fn given() -> BTreeMap<String, Given> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/seeds/mutations.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

/// The files of the repository that a command names, of one kind.
fn files<'a>(command: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let words =
        command.split([' ', ';', ':', '=']).filter(move |word| word.contains('/') && word.ends_with(kind));
    words.filter(|word| Path::new(ROOT).join(word).is_file())
}

fn read(path: &str) -> Vec<u8> {
    fs::read(Path::new(ROOT).join(path)).unwrap()
}

/// The lines of a text, with their ends.
fn lines(path: &str) -> Vec<String> {
    String::from_utf8(read(path)).unwrap().lines().map(|line| format!("{line}\n")).collect()
}

/// A command that reads other bytes in the place of a file.
fn with(command: &str, path: &str, bytes: impl Into<Vec<u8>>) -> Run {
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    Run { command: command.replace(path, name), files: vec![(name.to_owned(), bytes.into())] }
}

/// A listing without the lines that the row wants: it must not print them.
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

/// A program with another value in one expectation: it must fail.
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

/// An expectation with another first digit in its last value.
fn other_value(line: &str) -> Option<String> {
    let values = line.strip_prefix(".expect")?.split([';', '#']).next()?.trim_end();
    let value = values.rsplit(',').next()?.trim_start_matches([' ', '-']);
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let at = ".expect".len() + values.len() - digits.len();
    Some(format!("{}{}{}", &line[..at], other_digit(&digits[..1]), &line[at + 1..]))
}

/// A digit that is another one, as hexadecimal as it was.
fn other_digit(digit: &str) -> String {
    format!("{:x}", u8::from_str_radix(digit, 16).unwrap() ^ 1)
}

/// An array to compare with whose last element is another one: it must differ.
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

/// A program with the nearest legal value in the place of one that is refused: it must not be refused.
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

/// A text with a number in the place of another one, which does not stand in a longer one or in a name.
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

/// The mutations of a row in `docs/seeds/mutations.toml`.
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

/// A command with `to` instead of `from`, in itself or else in the first file that has it.
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

/// What makes a row false, by itself and as given.
fn mutations(row: &Row, given: Option<&Given>) -> Vec<Mutation> {
    let Some(command) = row.command.as_deref() else { return Vec::new() };
    let own = [listed(row, command), expected(command), compared(command), refused(row, command)];
    own.into_iter()
        .flatten()
        .chain(given.into_iter().flat_map(|given| from_given(&row.id, command, given)))
        .collect()
}

/// Every row whose command shows something fails when that is made false.
#[test]
fn every_statement_of_the_seeds_can_fail() {
    let (seeds, mut given) = (seeds(), given());
    let rows: Vec<&Row> =
        seeds.iter().flat_map(|seed| &seed.rows).filter(|row| row.command.is_some()).collect();
    let of_rows: Vec<(&Row, Vec<Mutation>)> =
        rows.into_iter().map(|row| (row, mutations(row, given.remove(&row.id).as_ref()))).collect();
    let unknown = given.keys().map(|id| format!("{id}: docs/seeds/mutations.toml has no row of a command"));
    let bare = of_rows.iter().filter(|(_, mutations)| mutations.is_empty());
    let bare = bare.map(|(row, _)| format!("{}: nothing makes it false: docs/seeds/mutations.toml", row.id));
    let all = || of_rows.iter().flat_map(|(row, all)| all.iter().map(move |mutation| (*row, mutation)));
    let outcomes = outcomes(all().map(|(_, mutation)| mutation.run.clone()));
    let survivors = all().filter_map(|(row, mutation)| mutation.survives(row, &outcomes[&mutation.run]));
    let failures: Vec<String> = unknown.chain(bare).chain(survivors).collect();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// No listing has the text that a row wants behind a word of which one digit is another.
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
