//! [`Front`]: the points that no other beats.

use super::point::Point;
use super::space::{Objective, Space};

/// Figures of a point in the order of the objectives, of which less is better.
type Figures = Vec<f64>;

/// Points that no other beats, with their figures.
pub(super) struct Front<'a> {
    objectives: &'a [Objective],
    best: Vec<(u64, Figures)>,
}

impl<'a> Front<'a> {
    /// None yet.
    pub fn new(space: &'a Space) -> Self {
        Self { objectives: &space.objectives, best: Vec::new() }
    }

    /// Takes in a point, unless it is beaten, is not feasible, or has a figure that is not known.
    pub fn add(&mut self, point: &Point) {
        let Some(figures) = self.figures(point).filter(|_| point.feasible) else { return };
        if self.best.iter().any(|(_, best)| beats(best, &figures)) {
            return;
        }
        self.best.retain(|(_, best)| !beats(&figures, best));
        self.best.push((point.index, figures));
    }

    /// Whether a point that was added is still among the best.
    pub fn has(&self, point: &Point) -> bool {
        self.best.iter().any(|(index, _)| *index == point.index)
    }

    /// A point that beats one of which only bounds are known.
    pub fn beats(&self, bounded: &Point) -> Option<u64> {
        let milliseconds = Some(bounded.bound_milliseconds?);
        let figures = self.figures(&Point { milliseconds, ..bounded.clone() })?;
        self.best.iter().find(|(_, best)| beats(best, &figures)).map(|(index, _)| *index)
    }

    /// Figures of a point in the order of the objectives, of which less is better; none where one is not known.
    pub fn figures(&self, point: &Point) -> Option<Figures> {
        let figure = |objective: &Objective| {
            let value = point.metric(objective.metric)?;
            Some(if objective.metric.more_is_better { -value } else { value })
        };
        self.objectives.iter().map(figure).collect()
    }
}

/// Whether `a` is as good as `b` everywhere and better somewhere.
fn beats(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b)
}
