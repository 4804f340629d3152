//! [`View`]: memories of a machine that a person looks at together. A target says which with one list,
//! [`Machine::views`](crate::Machine::views).

use crate::contract::machine::MachineMemory;

/// Addresses in a row of a memory with one number at each, when its target does not say.
const COLUMNS: usize = 8;

/// Memories that are looked at together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// Its memories, in the order in which they are shown.
    pub shown: Vec<Shown>,
}

/// How a memory is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its place in [`Outline::memories`](crate::Outline::memories).
    pub memory: usize,
    /// What it is, and what goes on in it, in a few words; empty where its name says all.
    pub about: String,
    /// Names of the numbers at an address; none where they have only numbers.
    pub lanes: &'static [&'static str],
    /// Addresses in a row, where each has one number.
    pub columns: usize,
}

impl Shown {
    /// The memory of a place, of which there is no more to say than `about`.
    pub fn new(memory: usize, about: impl Into<String>) -> Self {
        Self { memory, about: about.into(), lanes: &[], columns: COLUMNS }
    }

    /// The same with names for the numbers at an address.
    pub fn with_lanes(self, lanes: &'static [&'static str]) -> Self {
        Self { lanes, ..self }
    }

    /// The same with so many addresses in a row.
    pub fn with_columns(self, columns: usize) -> Self {
        Self { columns, ..self }
    }
}

impl View {
    /// Memories in the views that have been named for them, views in the order in which they are first named.
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

    /// A view for each memory of several addresses, and one for those of one address.
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
