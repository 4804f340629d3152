//! First and last use of objects: [`Uses`], the source of lifetimes for [`place`](crate::place()).

use crate::place::Lifetime;

/// First and last step that needs each object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uses(Vec<Option<(usize, usize)>>);

impl Uses {
    /// Creates the table for `objects` objects without uses.
    pub fn new(objects: usize) -> Self {
        Self(vec![None; objects])
    }

    /// Records that `step` needs `object`.
    pub fn add(&mut self, object: usize, step: usize) {
        let known = &mut self.0[object];
        // Default: its first use is its last so far.
        let (first, last) = known.unwrap_or((step, step));
        *known = Some((first.min(step), last.max(step)));
    }

    /// Returns the first and the last step that needs `object`; `None` if no step does.
    pub fn of(&self, object: usize) -> Option<(usize, usize)> {
        self.0[object]
    }

    /// Returns the lifetime of `object` with the given `size`; `None` if no step needs it.
    pub fn lifetime(&self, object: usize, size: u64) -> Option<Lifetime> {
        self.of(object).map(|(first, last)| Lifetime { first, last, size })
    }

    /// Returns, for each of `steps` steps, the objects that it is the last to need, in ascending
    /// order. Objects that a later step needs are not included.
    pub fn last_needed(&self, steps: usize) -> Vec<Vec<usize>> {
        let mut objects = vec![Vec::new(); steps];
        for (object, uses) in self.0.iter().enumerate() {
            if let Some(last) = uses.and_then(|(_, last)| objects.get_mut(last)) {
                last.push(object);
            }
        }
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_first_use_to_the_last() {
        let mut uses = Uses::new(3);
        [(0, 4), (0, 2), (0, 3), (2, 5)].into_iter().for_each(|(object, step)| uses.add(object, step));
        assert_eq!([0, 1, 2].map(|object| uses.of(object)), [Some((2, 4)), None, Some((5, 5))]);
        assert_eq!(uses.lifetime(0, 7), Some(Lifetime { first: 2, last: 4, size: 7 }));
        // A step after the five needs the last object.
        assert_eq!(uses.last_needed(5), [vec![], vec![], vec![], vec![], vec![0]]);
    }
}
