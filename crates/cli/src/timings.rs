//! [`Timings`]: the time of each phase of a command.

use std::time::Duration;

use npukit::report::PhaseTime;

use crate::table::{Column, percent, table};

/// Name of the time outside of all phases.
const OTHER: &str = "other";

/// Phases so far. Phases with the same name and parent are merged.
#[derive(Debug, Default)]
pub struct Timings {
    phases: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    /// Index of the parent phase.
    parent: Option<usize>,
    time: Duration,
}

impl Timings {
    /// Returns the index of a phase within its parent.
    pub fn place(&mut self, name: &str, parent: Option<usize>) -> usize {
        let known = self.phases.iter().position(|phase| phase.name == name && phase.parent == parent);
        known.unwrap_or_else(|| {
            self.phases.push(Entry { name: name.to_owned(), parent, time: Duration::ZERO });
            self.phases.len() - 1
        })
    }

    /// Adds time to the phase at an index.
    pub fn add(&mut self, place: usize, time: Duration) {
        self.phases.iter_mut().skip(place).take(1).for_each(|phase| phase.time += time);
    }

    /// Returns all phases of a command that took `whole`, parents before children, and the
    /// remaining time.
    pub fn report(&self, whole: Duration) -> Vec<PhaseTime> {
        let mut rows = Vec::new();
        self.within(None, 0, &mut rows);
        let phases: Duration = self.of(None).map(|(_, phase)| phase.time).sum();
        rows.push(row(OTHER, whole.saturating_sub(phases), 0));
        rows
    }

    /// Returns the children of a phase.
    fn of(&self, parent: Option<usize>) -> impl Iterator<Item = (usize, &Entry)> {
        self.phases.iter().enumerate().filter(move |(_, phase)| phase.parent == parent)
    }

    fn within(&self, parent: Option<usize>, depth: usize, rows: &mut Vec<PhaseTime>) {
        for (place, phase) in self.of(parent) {
            rows.push(row(&phase.name, phase.time, depth));
            self.within(Some(place), depth + 1, rows);
        }
    }
}

fn row(phase: &str, time: Duration, depth: usize) -> PhaseTime {
    PhaseTime { phase: phase.to_owned(), seconds: time.as_secs_f64(), depth }
}

/// Formats one line per phase, with indented children; shares are of the whole.
pub fn text(rows: &[PhaseTime]) -> String {
    let whole: f64 = rows.iter().filter(|row| row.depth == 0).map(|row| row.seconds).sum();
    let share = |seconds: f64| percent(if whole > 0.0 { seconds / whole } else { 0.0 });
    let cells = |PhaseTime { phase, seconds, depth }: &PhaseTime| {
        vec![format!("{}{phase}", "  ".repeat(*depth)), format!("{seconds:.3}"), share(*seconds)]
    };
    let columns = [Column::left("phase"), Column::right("seconds"), Column::right("share")];
    format!("\n{}", table(&columns, rows.iter().map(cells)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings() -> Timings {
        let mut timings = Timings::default();
        let mut add = |name: &str, parent, milliseconds| {
            let place = timings.place(name, parent);
            timings.add(place, Duration::from_millis(milliseconds));
            place
        };
        add("read model", None, 100);
        let compile = add("compile", None, 250);
        add("lower", Some(compile), 50);
        add("clock", None, 100);
        // This phase was already added before.
        add("compile", None, 250);
        add("schedule", Some(compile), 400);
        add("lower", Some(compile), 50);
        timings
    }

    #[test]
    fn phases_of_a_name_are_one_and_the_top_adds_up() {
        let rows = timings().report(Duration::from_millis(1000));
        let found: Vec<_> = rows.iter().map(|row| (&*row.phase, row.depth)).collect();
        let expected =
            [("read model", 0), ("compile", 0), ("lower", 1), ("schedule", 1), ("clock", 0), ("other", 0)];
        assert_eq!(found, expected);
        let top: f64 = rows.iter().filter(|row| row.depth == 0).map(|row| row.seconds).sum();
        assert!((top - 1.0).abs() < 1e-9, "{top}");
    }

    #[test]
    fn the_table_is_indented_and_has_shares_of_the_whole() {
        let expected = "
phase       seconds   share
read model    0.100  10.0 %
compile       0.500  50.0 %
  lower       0.100  10.0 %
  schedule    0.400  40.0 %
clock         0.100  10.0 %
other         0.300  30.0 %
";
        assert_eq!(text(&timings().report(Duration::from_millis(1000))), expected);
        assert!(text(&Timings::default().report(Duration::ZERO)).contains("other    0.000  0.0 %"));
    }
}
