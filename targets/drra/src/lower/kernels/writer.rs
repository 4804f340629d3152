//! [`Writer`]: writes PASM text, operation by operation.

use crate::config::fabric::Place;

/// Level: number of repetitions, step of the address, idle cycles in between.
pub(super) type Rep = (usize, i64, usize);

/// Writer of an epoch.
pub(super) struct Writer {
    operations: String,
    constraints: String,
    column: usize,
}

impl Writer {
    pub fn new(name: &str) -> Self {
        Self { operations: format!("epoch<{name}> {{\n"), constraints: String::new(), column: 0 }
    }

    /// Sets the column of the following operations.
    pub fn column(&mut self, number: usize) {
        self.column = number;
    }

    /// Writes an operation with a body of instructions as text.
    pub fn rop(&mut self, name: &str, place: Place, slot: u8, port: u8, body: &str) {
        let (Place { row, col }, column) = (place, self.column);
        self.operations +=
            &format!("rop<{name}_{column}> (row={row}, col={col}, slot={slot}, port={port}) {{ {body} }}\n");
    }

    /// Writes a constraint in which `@` precedes the names of operations.
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

/// Returns a `dsu` at an address, with levels.
pub(super) fn addresses(base: usize, levels: &[Rep]) -> String {
    format!("dsu (init_addr={base}) {}", reps(levels))
}

/// Returns an `evt` with levels, which have no address steps.
pub(super) fn events(levels: &[(usize, usize)]) -> String {
    let levels: Vec<Rep> = levels.iter().map(|&(iter, delay)| (iter, 0, delay)).collect();
    format!("evt {}", reps(&levels))
}

/// Returns levels. Levels that do not repeat are left out, unless all are.
fn reps(levels: &[Rep]) -> String {
    let mut kept: Vec<Rep> = levels.iter().filter(|level| level.0 > 1).copied().collect();
    if kept.is_empty() {
        kept.push((1, 0, 0));
    }
    kept.iter().map(|(iter, step, delay)| format!("rep (iter={iter}, step={step}, delay={delay}) ")).collect()
}
