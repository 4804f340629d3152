//! [`View`]: memories of a machine that are displayed together. A target defines them in one list,
//! [`Machine::views`](crate::Machine::views).

use crate::contract::machine::MachineMemory;

/// Default number of addresses per row, for a memory with one number at each address.
const COLUMNS: usize = 8;

/// Memories that are displayed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Name of the view.
    pub name: String,
    /// Memories, in display order.
    pub shown: Vec<Shown>,
}

/// How a memory is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Index of the memory in [`Outline::memories`](crate::Outline::memories).
    pub memory: usize,
    /// Short description of the memory and its current use; empty if the name is sufficient.
    pub about: String,
    /// Names of the numbers at an address; empty if they are only numbered.
    pub lanes: &'static [&'static str],
    /// Addresses per row, for a memory with one number at each address.
    pub columns: usize,
}

impl Shown {
    /// Creates the display of a memory with the description `about`.
    pub fn new(memory: usize, about: impl Into<String>) -> Self {
        Self { memory, about: about.into(), lanes: &[], columns: COLUMNS }
    }

    /// Sets names for the numbers at an address.
    pub fn with_lanes(self, lanes: &'static [&'static str]) -> Self {
        Self { lanes, ..self }
    }

    /// Sets the number of addresses per row.
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }
}

impl View {
    /// Groups memories by the view named for each; views are ordered by first occurrence.
    pub fn grouped(named: impl IntoIterator<Item = (String, Shown)>) -> Vec<Self> {
        let mut views: Vec<Self> = Vec::new();
        for (name, shown) in named {
            match views.iter_mut().find(|view| view.name == name) {
                Some(view) => view.shown.push(shown),
                None => views.push(Self { name, shown: vec![shown] }),
            }
        }
        views
    }

    /// Creates one view for each memory with several addresses, and a common view for memories with
    /// a single address.
    pub fn of_each(memories: &[MachineMemory]) -> Vec<Self> {
        let named = memories.iter().enumerate().map(|(place, memory)| {
            let name = if memory.depth == 1 { "registers" } else { &memory.name };
            (name.to_owned(), Shown::new(place, ""))
        });
        Self::grouped(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_of_one_address_are_one_view() {
        let memory = |name: &str, depth| MachineMemory {
            name: name.to_owned(),
            depth,
            lanes: 1,
            bits: 8,
            is_signed: false,
        };
        let views = View::of_each(&[memory("a", 4), memory("r", 1), memory("b", 2), memory("q", 1)]);
        let found: Vec<(&str, Vec<usize>)> = views
            .iter()
            .map(|view| (view.name.as_str(), view.shown.iter().map(|shown| shown.memory).collect()))
            .collect();
        assert_eq!(found, [("a", vec![0]), ("registers", vec![1, 3]), ("b", vec![2])]);
    }
}
