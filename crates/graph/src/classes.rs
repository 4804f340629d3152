//! [`Classes`]: partition of a graph's values into classes that share a property.

use crate::ir::ValueId;

/// A partition of values (union-find), joined pair by pair.
#[derive(Clone, Debug)]
pub(crate) struct Classes(Vec<usize>);

impl Classes {
    /// Creates `count` classes of one value each.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// Joins the classes of `members` into one.
    pub(crate) fn join(&mut self, members: impl IntoIterator<Item = ValueId>) {
        let mut members = members.into_iter().map(|id| id.0 as usize);
        let Some(first) = members.next() else { return };
        for other in members {
            let (a, b) = (self.root(first), self.root(other));
            self.0[a] = b;
        }
    }

    /// Returns the representative of each value's class.
    pub(crate) fn representatives(mut self) -> Vec<usize> {
        (0..self.0.len()).map(|id| self.root(id)).collect()
    }

    fn root(&mut self, mut id: usize) -> usize {
        while self.0[id] != id {
            self.0[id] = self.0[self.0[id]];
            id = self.0[id];
        }
        id
    }
}
