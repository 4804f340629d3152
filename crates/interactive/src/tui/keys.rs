//! [`KEYS`]: key bindings. A test checks that `docs/debug.md` lists the same keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Step,
    Back,
    Next,
    Previous,
    Continue,
    Reverse,
    Start,
    End,
    Up,
    Down,
    Here,
    ToCursor,
    Break,
    NextView,
    PreviousView,
    NextMemory,
    PreviousMemory,
    PageUp,
    PageDown,
    Scale,
    Follow,
    Motion,
    Earlier,
    Later,
    Type,
    Help,
    Leave,
}

/// Key binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Names of the keys in help and documentation.
    pub text: &'static str,
    /// Effect of the key.
    pub meaning: &'static str,
    codes: &'static [KeyCode],
    action: Action,
}

const fn key(text: &'static str, codes: &'static [KeyCode], action: Action, meaning: &'static str) -> Key {
    Key { text, meaning, codes, action }
}

use KeyCode::{BackTab, Char, Down, End, Enter, F, Home, Left, PageDown, PageUp, Right, Tab, Up};

/// All key bindings outside the command line.
#[rustfmt::skip] // A table.
pub const KEYS: &[Key] = &[
    key("s, Right", &[Char('s'), Right], Action::Step, "executes the next step"),
    key("b, Left", &[Char('b'), Left], Action::Back, "undoes the last step"),
    key("n", &[Char('n')], Action::Next, "runs to the beginning of the next layer"),
    key("p", &[Char('p')], Action::Previous, "goes back to the beginning of this layer, or of the one before"),
    key("c", &[Char('c')], Action::Continue, "runs to the next point, or to the end; Esc interrupts"),
    key("r", &[Char('r')], Action::Reverse, "goes back to the previous point, or to the start"),
    key("Home", &[Home], Action::Start, "goes to the start"),
    key("End", &[End], Action::End, "runs to the end; Esc interrupts"),
    key("k, Up", &[Char('k'), Up], Action::Up, "moves the cursor of the listing up"),
    key("j, Down", &[Char('j'), Down], Action::Down, "moves the cursor of the listing down"),
    key(".", &[Char('.')], Action::Here, "moves the cursor to the next step"),
    key("g", &[Char('g')], Action::ToCursor, "goes to the instruction at the cursor, ignoring all points"),
    key("Space", &[Char(' ')], Action::Break, "sets or removes a breakpoint at the cursor"),
    key("Tab", &[Tab], Action::NextView, "shows the next group of memories"),
    key("Shift-Tab", &[BackTab], Action::PreviousView, "shows the previous group of memories"),
    key("]", &[Char(']')], Action::NextMemory, "selects the next memory of the group; with `m`, the next cycle"),
    key("[", &[Char('[')], Action::PreviousMemory, "selects the previous memory; with `m`, the previous cycle"),
    key("PageDown", &[PageDown], Action::PageDown, "scrolls the selected memory down"),
    key("PageUp", &[PageUp], Action::PageUp, "scrolls the selected memory up"),
    key("x", &[Char('x')], Action::Scale, "switches the number format: real, raw, hex, float, error"),
    key("f", &[Char('f')], Action::Follow, "turns following of each step's writes on or off"),
    key("m", &[Char('m')], Action::Motion, "shows the values inside a unit during the next step, or memories again"),
    key("-", &[Char('-')], Action::Earlier, "shows earlier output"),
    key("+", &[Char('+')], Action::Later, "shows later output"),
    key(":, Enter", &[Char(':'), Enter], Action::Type, "begins a command; Up and Down recall earlier ones, Esc cancels"),
    key("?, h, F1", &[Char('?'), Char('h'), F(1)], Action::Help, "shows the keys"),
    key("q, Ctrl-C", &[Char('q')], Action::Leave, "quits"),
];

/// Whether a key is pressed together with Control.
pub(crate) fn is_control(key: KeyEvent, letter: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == Char(letter)
}

impl Action {
    /// Returns the action of a key outside the command line.
    pub fn of(key: KeyEvent) -> Option<Self> {
        if is_control(key, 'c') {
            return Some(Self::Leave);
        }
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return None;
        }
        KEYS.iter().find(|row| row.codes.contains(&key.code)).map(|row| row.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut seen = Vec::new();
        for code in KEYS.iter().flat_map(|row| row.codes) {
            assert!(!seen.contains(code), "{code:?}");
            seen.push(*code);
        }
    }

    /// The book has exactly one row for each key.
    #[test]
    fn the_book_has_the_keys() {
        let page = include_str!("../../../../docs/debug.md");
        let row = |row: &Key| {
            let keys: Vec<String> = row.text.split(", ").map(|key| format!("`{key}`")).collect();
            format!("| {} | {} |", keys.join(", "), row.meaning)
        };
        let begin = page.find("| key | does |").expect("a table of keys");
        let rows: Vec<&str> =
            page[begin..].lines().skip(2).take_while(|line| line.starts_with('|')).collect();
        assert_eq!(rows, KEYS.iter().map(row).collect::<Vec<_>>());
    }
}
