//! [`Pattern`]: timing of an operation's events, relative to the first.

use crate::isa::pasm::schedule::linear::Linear;

/// Longest operation in cycles, and largest factor in it.
pub const MAX_CYCLES: u64 = 1_000_000_000;

/// Timing of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A single event of a lane.
    Event {
        /// Lane number, 0 for the first.
        lane: usize,
    },
    /// `R<count, delay>(of)`
    Repeat {
        /// Number of repetitions.
        count: i64,
        /// Idle cycles between repetitions.
        delay: Linear,
        /// Repeated pattern.
        of: Box<Self>,
    },
    /// `T<delay>(first, second)`
    Then {
        /// First pattern.
        first: Box<Self>,
        /// Idle cycles between the patterns.
        delay: Linear,
        /// Second pattern.
        second: Box<Self>,
    },
}

impl Pattern {
    /// Cycles from the first event to the last, both included.
    pub fn span(&self) -> Linear {
        match self {
            Self::Event { .. } => Linear::constant(1),
            Self::Repeat { count, delay, of } => of.span().times(*count).plus(count.saturating_sub(1), delay),
            Self::Then { first, delay, second } => first.span().plus(1, delay).plus(1, &second.span()),
        }
    }

    /// Returns the cycle of an event; `indices` select repetitions, outermost first, and missing
    /// ones are 0.
    ///
    /// `None` if the event does not exist. [`Self::levels`] returns the number of repetitions
    /// around `lane`.
    pub fn event(&self, lane: usize, indices: &[i64]) -> Option<Linear> {
        match self {
            Self::Event { lane: mine } => (*mine == lane && indices.is_empty()).then(Linear::default),
            Self::Repeat { count, delay, of } => {
                let (index, inner) = match indices.split_first() {
                    Some((index, inner)) => (*index, inner),
                    None => (0, indices),
                };
                let inside = (0..*count).contains(&index);
                let stride = of.span().plus(1, delay);
                of.event(lane, inner).filter(|_| inside).map(|start| start.plus(index, &stride))
            }
            Self::Then { first, delay, second } => first.event(lane, indices).or_else(|| {
                let before = first.span().plus(1, delay);
                second.event(lane, indices).map(|start| start.plus(1, &before))
            }),
        }
    }

    /// Returns the number of repetitions of each level around an event, outermost first; `None`
    /// without the event.
    pub fn levels(&self, lane: usize) -> Option<Vec<i64>> {
        match self {
            Self::Event { lane: mine } => (*mine == lane).then(Vec::new),
            Self::Repeat { count, of, .. } => of.levels(lane).map(|inner| [vec![*count], inner].concat()),
            Self::Then { first, second, .. } => first.levels(lane).or_else(|| second.levels(lane)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::pasm::schedule::linear::Variable;

    fn event(lane: usize) -> Box<Pattern> {
        Box::new(Pattern::Event { lane })
    }

    fn repeat(count: i64, delay: i64, of: Box<Pattern>) -> Box<Pattern> {
        Box::new(Pattern::Repeat { count, delay: Linear::constant(delay), of })
    }

    /// Test of the timing model: a repetition of a transition restarts after both parts and the
    /// delay.
    #[test]
    fn repetitions_and_transitions_nest() {
        let pair = Pattern::Then { first: event(0), delay: Linear::constant(4), second: event(1) };
        assert_eq!(pair.event(1, &[]), Some(Linear::constant(5)));
        assert_eq!(pair.span(), Linear::constant(6));
        let twice = repeat(2, 9, Box::new(pair));
        assert_eq!(twice.event(0, &[1]), Some(Linear::constant(15)));
        assert_eq!(twice.event(1, &[1]), Some(Linear::constant(20)));
        assert_eq!(twice.event(1, &[2]), None);
        assert_eq!(twice.event(2, &[]), None);
        assert_eq!(twice.levels(1), Some(vec![2]));
    }

    #[test]
    fn missing_indices_are_the_innermost() {
        let nest = repeat(3, 1, repeat(2, 0, event(0)));
        assert_eq!(nest.event(0, &[2]), Some(Linear::constant(6)));
        assert_eq!(nest.event(0, &[2, 1]), Some(Linear::constant(7)));
        assert_eq!(nest.event(0, &[0, 0, 0]), None);
        assert_eq!(nest.span(), Linear::constant(8));
    }

    #[test]
    fn delays_may_be_variables() {
        let pattern = Pattern::Repeat { count: 4, delay: Variable(0).into(), of: event(0) };
        assert_eq!(pattern.span(), Linear::constant(4).plus(3, &Variable(0).into()));
        assert_eq!(pattern.event(0, &[3]), Some(Linear::constant(3).plus(3, &Variable(0).into())));
    }
}
