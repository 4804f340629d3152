//! [`mark`]: marks the Pareto-optimal points, and merges points that are nearly as good.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::front::{Figures, Front, beats, loosened};
use super::point::Point;
use super::space::Space;

/// Resources by which machines are compared, most important first.
const SIZES: [&str; 4] = ["dsp", "bram", "uram", "lut"];

/// Marks the Pareto-optimal points. With `epsilon`, points that are at most this share worse than a
/// Pareto-optimal point in every objective count as equal to it. The smallest machine of them is
/// marked, and the others refer to it.
pub(super) fn mark(points: &mut [Point], space: &Space, epsilon: Option<f64>) {
    let mut front = Front::new(space);
    points.iter().for_each(|point| front.add(point));
    let chosen = match epsilon {
        Some(epsilon) => without_dominated(representatives(points, &front, epsilon)),
        None => front.best().iter().map(|(index, _)| (*index, *index)).collect(),
    };
    for point in points {
        point.pareto = chosen.values().any(|index| *index == point.index);
        point.merged_into = chosen.get(&point.index).copied().filter(|index| *index != point.index);
    }
}

/// Point of the front, and the place and the figures of the point that represents it.
type Represented = BTreeMap<u64, (u64, Figures)>;

/// Chooses for each point of the front the smallest machine that is nearly as good.
fn representatives(points: &[Point], front: &Front<'_>, epsilon: f64) -> Represented {
    let known = points.iter().filter(|point| point.feasible);
    let mut candidates: Vec<(&Point, Figures)> =
        known.filter_map(|point| Some((point, front.figures(point)?))).collect();
    candidates.sort_by(|(a, better), (b, worse)| {
        smaller(a, b).then_with(|| lexicographic(better, worse)).then(a.index.cmp(&b.index))
    });
    let mut left: Vec<(u64, Figures)> = front.best().to_vec();
    let mut represented = Represented::new();
    for (point, figures) in candidates {
        left.retain(|(index, best)| {
            let is_near = figures.iter().zip(best).all(|(own, best)| *own <= loosened(*best, epsilon));
            if is_near {
                represented.insert(*index, (point.index, figures.clone()));
            }
            !is_near
        });
    }
    represented
}

/// Replaces representatives that another one dominates: it is also near their points.
fn without_dominated(represented: Represented) -> BTreeMap<u64, u64> {
    let better_than = |figures: &Figures| {
        let others = represented.values().filter(|(_, other)| beats(other, figures));
        others.min_by(|(_, a), (_, b)| lexicographic(a, b))
    };
    represented
        .iter()
        .map(|(index, (own, figures))| (*index, better_than(figures).map_or(*own, |(better, _)| *better)))
        .collect()
}

/// Compares machines by their resources. Unknown resources are not compared.
fn smaller(a: &Point, b: &Point) -> Ordering {
    let of = |point: &Point, name| point.area.as_ref().and_then(|area| area.value(name));
    let orders = SIZES.into_iter().filter_map(|name| Some(of(a, name)?.total_cmp(&of(b, name)?)));
    orders.fold(Ordering::Equal, Ordering::then)
}

fn lexicographic(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::Area;

    use super::*;

    /// Points of milliseconds, DSP slices and block RAMs.
    fn points(figures: &[(f64, f64, f64)]) -> Vec<Point> {
        let point = |(index, &(milliseconds, dsp, bram)): (u64, &(f64, f64, f64))| Point {
            index,
            milliseconds: Some(milliseconds),
            area: Some(Area { dsp: Some(dsp), bram: Some(bram), ..Area::default() }),
            feasible: true,
            ..Point::default()
        };
        (0..).zip(figures).map(point).collect()
    }

    /// Returns the points that are marked, and the point into which each other one is merged.
    fn marked(
        objectives: &str,
        epsilon: Option<f64>,
        figures: &[(f64, f64, f64)],
    ) -> (Vec<u64>, Vec<(u64, u64)>) {
        let space = Space::from_toml(&format!("target = \"t\"\nminimize = {objectives}")).unwrap();
        let mut points = points(figures);
        mark(&mut points, &space, epsilon);
        let front = points.iter().filter(|point| point.pareto).map(|point| point.index).collect();
        let merged = points.iter().filter_map(|point| Some((point.index, point.merged_into?))).collect();
        (front, merged)
    }

    #[test]
    fn without_a_tolerance_the_front_is_exact() {
        let figures = [(1.0, 272.0, 9.0), (1.004, 72.0, 9.0), (1.0, 272.0, 9.0)];
        assert_eq!(marked("\"milliseconds\"", None, &figures), (vec![0, 2], vec![]));
        assert_eq!(marked("\"milliseconds\"", Some(0.0), &figures), (vec![0], vec![(2, 0)]));
    }

    #[test]
    fn the_smaller_machine_wins() {
        let figures = [(1.0, 272.0, 9.0), (1.004, 72.0, 9.0), (1.02, 20.0, 9.0)];
        assert_eq!(marked("\"milliseconds\"", Some(0.01), &figures), (vec![1], vec![(0, 1)]));
        assert_eq!(marked("\"milliseconds\"", Some(0.02), &figures), (vec![2], vec![(0, 2)]));
    }

    #[test]
    fn points_are_equal_only_if_every_objective_is_near() {
        let figures = [(0.9, 272.0, 9.0), (1.004, 72.0, 9.0), (1.008, 72.0, 8.0), (5.0, 20.0, 8.0)];
        let both = "[\"milliseconds\", \"dsp\"]";
        assert_eq!(marked(both, Some(0.01), &figures), (vec![0, 2, 3], vec![(1, 2)]));
    }

    #[test]
    fn more_is_better_where_it_is() {
        let space = Space::from_toml("target = \"t\"\nmaximize = \"argmax_agree\"").unwrap();
        let mut points = points(&[(1.0, 9.0, 9.0), (1.0, 4.0, 9.0), (1.0, 1.0, 9.0)]);
        for (point, agree) in points.iter_mut().zip([1.0, 0.995, 0.9]) {
            point.argmax_agree = Some(agree);
        }
        mark(&mut points, &space, Some(0.01));
        assert_eq!(points.iter().map(|point| point.pareto).collect::<Vec<_>>(), [false, true, false]);
    }
}
