//! [`command_file`]: returns commands for Surfer, which configure the view.
//!
//! Items are identified by their hexadecimal position from the top, with letters `a` to `p` as
//! digits. Each text is focused to set its format. New items are added at the end if no item is
//! focused.

use std::fmt::Write;

use super::signals::{Form, MEMORIES, PROGRAM, Purpose, Scope, Signal, Signals};

/// Returns the text of a command file that shows the program, the work and waits of each unit, and
/// the curves.
pub(super) fn command_file(signals: &Signals) -> String {
    let mut file = Commands { text: String::from("# Surfer commands, by npukit\n"), items: 0 };
    let is_unit = |scope: &&Scope| ![PROGRAM, MEMORIES].contains(&scope.name.as_str());
    let (units, others): (Vec<&Scope>, Vec<&Scope>) = signals.scopes.iter().partition(is_unit);
    for scope in others.iter().filter(|scope| scope.name == PROGRAM) {
        file.show(scope, |_| true);
    }
    for scope in &units {
        file.show(scope, |signal| matches!(signal.purpose, Purpose::Operation | Purpose::Waits));
    }
    for scope in others.iter().filter(|scope| scope.name == MEMORIES) {
        file.show(scope, |_| true);
    }
    for scope in units {
        file.show(scope, |signal| signal.purpose == Purpose::Curve);
    }
    file.text.push_str("zoom_fit\n");
    file.text
}

/// Command file under construction.
struct Commands {
    text: String,
    /// Number of items so far.
    items: usize,
}

impl Commands {
    /// Adds signals of a scope.
    fn show(&mut self, scope: &Scope, is_shown: impl Fn(&Signal) -> bool) {
        for (_, signal) in scope.signals.iter().filter(|(_, signal)| is_shown(signal)) {
            let path = format!("{}.{}", scope.name, signal.name);
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "variable_add {path}");
            if matches!(signal.form, Form::Text(_)) {
                let letters = letters(self.items);
                let _ =
                    writeln!(self.text, "item_focus {letters}_{path}\nitem_set_format ASCII\nitem_unfocus");
            }
            self.items += 1;
        }
    }
}

/// Returns a position in Surfer's notation.
fn letters(place: usize) -> String {
    let digits = format!("{place:x}");
    digits.chars().filter_map(|digit| char::from_digit(digit.to_digit(16)? + 10, 36)).collect()
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn places_are_letters_for_digits() {
        assert_eq!([0, 9, 10, 15, 16, 255].map(letters), ["a", "j", "k", "p", "ba", "pp"]);
    }
}
