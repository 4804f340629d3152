//! [`Names`]: index of value names, which finds a new name without a search of all values.

use std::collections::{HashMap, HashSet};

use crate::ir::Value;

/// Names that values of a graph have or had; kept by
/// [`Graph::fresh_name`](crate::Graph::fresh_name).
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: HashSet<String>,
    /// Next number to try, by base name.
    next: HashMap<String, u32>,
    /// Number of values whose names are already in `taken`.
    seen: usize,
}

impl Names {
    /// Adds the names of values that are new since the last call.
    pub(crate) fn see(&mut self, values: &[Value]) {
        if self.seen > values.len() {
            *self = Self::default();
        }
        self.taken.extend(values[self.seen..].iter().map(|value| value.name.clone()));
        self.seen = values.len();
    }

    /// Returns `base`, or `base` with the lowest free number, and marks that name as taken.
    pub(crate) fn fresh(&mut self, base: &str) -> String {
        if self.taken.insert(base.to_owned()) {
            return base.to_owned();
        }
        let next = self.next.entry(base.to_owned()).or_insert(2);
        loop {
            let name = format!("{base}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use npukit_numeric::ElementType;

    use crate::ir::{Graph, ValueInfo};

    fn graph(names: &[&str]) -> Graph {
        let mut graph = Graph::default();
        for &name in names {
            graph.add_input(name, ValueInfo { shape: Vec::new(), element: ElementType::F32 });
        }
        graph
    }

    #[test]
    fn names_are_numbered_past_those_taken() {
        let mut graph = graph(&["a", "a_2", "a_4"]);
        let names: Vec<String> = (0..3).map(|_| graph.fresh_name("a")).collect();
        assert_eq!(names, ["a_3", "a_5", "a_6"]);
        assert_eq!(graph.fresh_name("b"), "b");
        graph.add_input("c", ValueInfo { shape: Vec::new(), element: ElementType::F32 });
        assert_eq!(graph.fresh_name("c"), "c_2");
    }

    #[test]
    fn names_of_values_taken_out_are_free_again() {
        let mut graph = graph(&["a", "b"]);
        graph.outputs = vec![graph.inputs[0]];
        graph.inputs.truncate(1);
        assert_eq!(graph.fresh_name("b"), "b_2");
        assert!(graph.remove_dead());
        assert_eq!(graph.fresh_name("b"), "b");
        // The new values are seen although their number is the same as before.
        graph.add_input("c", ValueInfo { shape: Vec::new(), element: ElementType::F32 });
        assert_eq!(graph.fresh_name("c"), "c_2");
    }

    #[test]
    fn a_name_is_given_once_before_a_value_has_it() {
        let mut graph = graph(&["a"]);
        assert_eq!(graph.fresh_name("b"), "b");
        graph.add_input("c", ValueInfo { shape: Vec::new(), element: ElementType::F32 });
        assert_eq!(graph.fresh_name("b"), "b_2");
    }

    #[test]
    fn values_added_after_others_were_taken_out_are_seen() {
        let mut graph = graph(&["a", "b"]);
        assert_eq!(graph.fresh_name("a"), "a_2");
        graph.outputs = vec![graph.inputs[0]];
        graph.inputs.truncate(1);
        assert!(graph.remove_dead());
        graph.add_input("c", ValueInfo { shape: Vec::new(), element: ElementType::F32 });
        assert_eq!(graph.fresh_name("c"), "c_2");
    }
}
