//! Functions and filters of templates beyond Jinja's own, as transformers has them: [`add`].

use std::io;
use std::time::SystemTime;

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

/// Bytes of a text that one unit of fuel pays for.
const BYTES_PER_FUEL: usize = 64;
const SECONDS_OF_DAY: u64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Adds the functions and filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment.add_filter("tojson", tojson);
    environment.set_unknown_method_callback(method);
}

/// Calls a method of Python, except the one that makes texts of any width.
fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    if name == "format" {
        let message = "the method `format` is not supported";
        return Err(Error::new(ErrorKind::UnknownMethod, message));
    }
    unknown_method_callback(state, value, name, arguments)
}

/// Ends the rendering with a message of the template.
fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Returns the current date and time (UTC) in a format of C's `strftime`.
fn strftime_now(format: &str) -> Result<String, Error> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // Default: a clock before 1970 is wrong, and any date is.
    date(format, now.map_or(0, |now| now.as_secs()))
}

/// Formats the time `seconds` after the begin of 1970.
fn date(format: &str, seconds: u64) -> Result<String, Error> {
    let (days, second) = (seconds / SECONDS_OF_DAY, seconds % SECONDS_OF_DAY);
    let (year, day_of_year) = year(days);
    let (month, day) = month(year, day_of_year);
    let (hour, weekday) = (second / 3600, WEEKDAYS[(days % 7) as usize]);
    let (month_name, mut text) = (MONTHS[month], String::new());
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        text += &match characters.next() {
            Some('Y') => year.to_string(),
            Some('y') => format!("{:02}", year % 100),
            Some('m') => format!("{:02}", month + 1),
            Some('B') => month_name.to_owned(),
            Some('b') => month_name[..3].to_owned(),
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('j') => format!("{:03}", day_of_year + 1),
            Some('A') => weekday.to_owned(),
            Some('a') => weekday[..3].to_owned(),
            Some('H') => format!("{hour:02}"),
            Some('M') => format!("{:02}", second / 60 % 60),
            Some('S') => format!("{:02}", second % 60),
            Some('%') => "%".to_owned(),
            other => {
                // Default: nothing after the last `%`.
                let found = other.map(String::from).unwrap_or_default();
                let message = format!(
                    "unknown part `%{found}` of a date; known are %Y %y %m %B %b %d %e %j %A %a %H %M %S"
                );
                return Err(Error::new(ErrorKind::InvalidOperation, message));
            }
        };
    }
    Ok(text)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Returns the year, and the day of the year from 0, of a number of days after the begin of 1970.
fn year(days: u64) -> (u64, u64) {
    /// Days of 400 years, after which the calendar repeats.
    const CYCLE: u64 = 146_097;
    let (mut year, mut day) = (1970 + 400 * (days / CYCLE), days % CYCLE);
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    (year, day)
}

/// Returns the month from 0, and the day of the month from 1.
fn month(year: u64, mut day_of_year: u64) -> (usize, u64) {
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day_of_year >= lengths[month] {
        day_of_year -= lengths[month];
        month += 1;
    }
    (month, day_of_year + 1)
}

/// Formats a value as JSON, with spaces like Python's.
fn tojson(state: &State<'_, '_>, value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    // Default: without fuel, nothing may be written.
    let fuel = state.fuel_levels().map_or(0, |(_, rest)| rest);
    let room = usize::try_from(fuel).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_FUEL);
    let mut bytes = Bounded { bytes: Vec::new(), room };
    let written = match indent {
        Some(indent) => {
            let indent = " ".repeat(indent.min(16));
            let formatter = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced)),
    };
    let failed = |message: String| Error::new(ErrorKind::BadSerialization, message);
    written.map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes.bytes).map_err(|error| failed(error.to_string()))
}

/// Bytes that must not be more than there is room for.
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room - self.bytes.len() {
            return Err(io::Error::other("the text is too long"));
        }
        self.bytes.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Formatter of JSON on one line, with a space after each comma and colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let all = "%A %a %d %e %B %b %m %Y %y %j %H:%M:%S %%";
        assert_eq!(date(all, 0).unwrap(), "Thursday Thu 01  1 January Jan 01 1970 70 001 00:00:00 %");
        let leap = 951_782_400 + 86_399;
        assert_eq!(date(all, leap).unwrap(), "Tuesday Tue 29 29 February Feb 02 2000 00 060 23:59:59 %");
        assert_eq!(date("%Y-%m-%d", 4_107_542_400).unwrap(), "2100-03-01", "2100 is not a leap year");
        assert_eq!(date("%Y-%m-%d", 1_735_603_200).unwrap(), "2024-12-31");
        assert!(date("%Q", 0).is_err() && date("%", 0).is_err());
        assert!(date("%Y", u64::MAX).is_ok());
    }
}
