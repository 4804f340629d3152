//! [`Front`]: the Pareto-optimal points.

use super::point::Point;
use super::space::{Objective, Space};

/// Figures of a point in the order of the objectives; less is better.
pub(super) type Figures = Vec<f64>;

/// Pareto-optimal points, with their figures.
pub(super) struct Front<'a> {
    objectives: &'a [Objective],
    best: Vec<(u64, Figures)>,
}

impl<'a> Front<'a> {
    /// Creates an empty front.
    pub fn new(space: &'a Space) -> Self {
        Self { objectives: &space.objectives, best: Vec::new() }
    }

    /// Adds a point, unless it is dominated, infeasible, or has an unknown figure.
    pub fn add(&mut self, point: &Point) {
        let Some(figures) = self.figures(point).filter(|_| point.feasible) else { return };
        if self.best.iter().any(|(_, best)| beats(best, &figures)) {
            return;
        }
        self.best.retain(|(_, best)| !beats(&figures, best));
        self.best.push((point.index, figures));
    }

    /// Returns the places and the figures of the points on the front.
    pub fn best(&self) -> &[(u64, Figures)] {
        &self.best
    }

    /// Marks the better half of the points by Pareto rank: the Pareto-optimal points first, then
    /// then points dominated only by these, and so on until half of all points are marked.
    pub fn better_half(&self, points: &[Point]) -> Vec<bool> {
        let ranks = ranks(points.iter().map(|point| self.figures(point)).collect());
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        // Default: without points, the better half is empty.
        let last = sorted.get(points.len().div_ceil(2).saturating_sub(1)).copied().unwrap_or_default();
        ranks.into_iter().map(|rank| rank <= last).collect()
    }

    /// Returns a point of the front that dominates a point for which only lower bounds are known,
    /// even if it is worse by the share `epsilon` in every objective.
    pub fn beats(&self, bounded: &Point, epsilon: f64) -> Option<u64> {
        let milliseconds = Some(bounded.bound_milliseconds?);
        let figures = self.figures(&Point { milliseconds, ..bounded.clone() })?;
        let worse =
            |best: &Figures| best.iter().map(|figure| loosened(*figure, epsilon)).collect::<Figures>();
        self.best.iter().find(|(_, best)| beats(&worse(best), &figures)).map(|(index, _)| *index)
    }

    /// Returns the figures of a point in the order of the objectives (less is better), or `None` if
    /// one is unknown.
    pub fn figures(&self, point: &Point) -> Option<Figures> {
        let figure = |objective: &Objective| {
            let value = point.metric(objective.metric)?;
            Some(if objective.metric.more_is_better { -value } else { value })
        };
        self.objectives.iter().map(figure).collect()
    }
}

/// Returns the Pareto rank of each point: the length of the longest chain of points that dominate
/// it. Points without figures come last.
fn ranks(points: Vec<Option<Figures>>) -> Vec<usize> {
    let mut known: Vec<(usize, &Figures)> =
        points.iter().enumerate().filter_map(|(place, figures)| Some((place, figures.as_ref()?))).collect();
    // Sort so that a dominating point comes before the points that it dominates.
    let order = |a: &Figures, b: &Figures| {
        let differing = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        // Default: equal if no figure differs.
        differing.unwrap_or(std::cmp::Ordering::Equal)
    };
    known.sort_by(|(_, a), (_, b)| order(a, b));
    let mut ranks = vec![usize::MAX; points.len()];
    let mut fronts: Vec<Vec<&Figures>> = Vec::new();
    for (place, figures) in known {
        let is_free = |front: &Vec<&Figures>| !front.iter().any(|better| beats(better, figures));
        // Default: a new front, if a point of each existing front dominates it.
        let rank = fronts.iter().position(is_free).unwrap_or(fronts.len());
        ranks[place] = rank;
        match fronts.get_mut(rank) {
            Some(front) => front.push(figures),
            None => fronts.push(vec![figures]),
        }
    }
    ranks
}

/// Returns a figure that is worse by this share.
pub(super) fn loosened(figure: f64, epsilon: f64) -> f64 {
    figure + epsilon * figure.abs()
}

/// Whether `a` dominates `b`: at least as good in every figure and better in one.
pub(super) fn beats(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_better_half_is_what_nobody_beats_and_then_what_only_these_beat() {
        let figures = [[1.0, 9.0], [2.0, 5.0], [3.0, 6.0], [9.0, 1.0], [9.0, 9.0], [4.0, 7.0]];
        let all: Vec<Option<Figures>> = figures.iter().map(|figures| Some(figures.to_vec())).collect();
        assert_eq!(ranks(all), [0, 0, 1, 0, 3, 2]);
        assert_eq!(ranks(vec![None, Some(vec![1.0]), Some(vec![1.0])]), [usize::MAX, 0, 0]);
        let space = Space::from_toml("target = \"chip\"\nminimize = \"cycles\"").unwrap();
        let point = |cycles| Point { cycles, ..Point::default() };
        let points = [Some(5), None, Some(3), Some(4), Some(9)].map(point);
        assert_eq!(Front::new(&space).better_half(&points), [true, false, true, true, false]);
        assert_eq!(Front::new(&space).better_half(&[]), [] as [bool; 0]);
    }
}
