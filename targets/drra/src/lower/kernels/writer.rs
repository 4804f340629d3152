//! [`Writer`]: PASM text, operation by operation.

use crate::config::fabric::Place;

/// A level: how often, step of the address, idle cycles between.
pub(super) type Rep = (usize, i64, usize);

/// Writes an epoch.
pub(super) struct Writer {
    operations: String,
    constraints: String,
    column: usize,
}

impl Writer {
    pub fn new(name: &str) -> Self {
        Self { operations: format!("epoch<{name}> {{\n"), constraints: String::new(), column: 0 }
    }

    /// The operations that follow are those of this column.
    pub fn column(&mut self, number: usize) {
        self.column = number;
    }

    /// An operation whose body is instructions as text.
    pub fn rop(&mut self, name: &str, place: Place, slot: u8, port: u8, body: &str) {
        let (Place { row, col }, column) = (place, self.column);
        self.operations +=
            &format!("rop<{name}_{column}> (row={row}, col={col}, slot={slot}, port={port}) {{ {body} }}\n");
    }

    /// A constraint in which `@` stands before the names of operations.
    pub fn constraint(&mut self, text: &str) {
        let mut renamed = String::new();
        let mut is_name = false;
        for letter in text.chars() {
            if is_name && !(letter.is_ascii_alphanumeric() || letter == '_') {
                renamed.push_str(&format!("_{}", self.column));
                is_name = false;
            }
            if letter == '@' { is_name = true } else { renamed.push(letter) }
        }
        if is_name {
            renamed.push_str(&format!("_{}", self.column));
        }
        self.constraints.push_str(&format!("cstr(\"{renamed}\")\n"));
    }

    pub fn finish(self) -> String {
        crate::isa::pasm::layout_of(&format!("{}\n\n{}}}\n", self.operations, self.constraints))
    }
}

/// `dsu` at an address, and levels.
pub(super) fn addresses(base: usize, levels: &[Rep]) -> String {
    format!("dsu (init_addr={base}) {}", reps(levels))
}

/// `evt` and levels of which only the timing counts.
pub(super) fn events(levels: &[(usize, usize)]) -> String {
    let levels: Vec<Rep> = levels.iter().map(|&(iter, delay)| (iter, 0, delay)).collect();
    format!("evt {}", reps(&levels))
}

/// Levels, those that repeat once left out unless all do.
fn reps(levels: &[Rep]) -> String {
    let mut kept: Vec<Rep> = levels.iter().filter(|level| level.0 > 1).copied().collect();
    if kept.is_empty() {
        kept.push((1, 0, 0));
    }
    kept.iter().map(|(iter, step, delay)| format!("rep (iter={iter}, step={step}, delay={delay}) ")).collect()
}
