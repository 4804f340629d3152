//! [`spaces`]: files that `npu explore` reads.

use npukit::explore::{Condition, Journal, Space};

use crate::message;

/// Number of points drawn from a space.
const DRAWN: usize = 8;

/// Readers: `s`: a space; `c`: a condition; `j`: a file of points.
///
/// At most the requested number of points is drawn from a space. Of a file of points, only complete
/// lines are used, and they are written again unchanged.
pub fn spaces(input: &[u8]) {
    match input.split_first() {
        Some((b's', bytes)) => text(bytes, space),
        Some((b'c', bytes)) => text(bytes, condition),
        Some((b'j', bytes)) => journal(bytes),
        _ => {}
    }
}

fn text(bytes: &[u8], read: fn(&str)) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        read(text);
    }
}

fn space(text: &str) {
    let space = match Space::from_toml(text) {
        Ok(space) => space,
        Err(error) => return drop(message(&error)),
    };
    match space.points(Some(DRAWN), 1) {
        Err(error) => _ = message(&error),
        Ok(points) => {
            assert!(points.len() <= DRAWN.min(space.size().unwrap_or(DRAWN)), "{} points", points.len());
        }
    }
}

fn condition(text: &str) {
    let condition = match Condition::parse(text) {
        Ok(condition) => condition,
        Err(error) => return drop(message(&error)),
    };
    let names = condition.names();
    let number = |name: &str| names.contains(&name).then(|| (name.len() as u64).into());
    assert_eq!(condition.holds(&number), condition.holds(&number));
    assert!(
        !names.is_empty() || condition.holds(&|_| None).is_some(),
        "a condition without variables must have a value"
    );
}

fn journal(bytes: &[u8]) {
    match Journal::read(bytes, &[]) {
        Err(error) => _ = message(&error),
        Ok(journal) => {
            let lines = journal.points.iter().map(Journal::line);
            let written: String = std::iter::once(Journal::header(&[])).chain(lines).collect();
            let whole = if journal.bytes == 0 { "" } else { &written };
            assert_eq!(bytes.get(..journal.bytes), Some(whole.as_bytes()));
        }
    }
}
