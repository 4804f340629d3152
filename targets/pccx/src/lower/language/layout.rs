//! [`HeadLayout`]: places of a head's features in L2.

use npukit_graph::language::Pairs;

use crate::config::WORD_LANES;

/// Places of a head's features in L2, in whole words. The two features of each rotated pair are in
/// two halves, so that moves of words exchange them. Other places hold zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadLayout {
    places: Vec<Option<usize>>,
    /// Number of places of the first features of pairs, and of the second ones.
    pub half: usize,
}

impl HeadLayout {
    /// Returns the layout of `head` features that are not rotated.
    pub fn plain(head: usize) -> Self {
        let mut places = Vec::new();
        extend(&mut places, 0..head);
        Self { places, half: 0 }
    }

    /// Returns the layout of `head` features. The first `rotated` features are rotated in pairs.
    pub fn rotated(head: usize, rotated: usize, pairs: Pairs) -> Self {
        let count = rotated / 2;
        let mut places = Vec::new();
        match pairs {
            Pairs::Neighbors => {
                extend(&mut places, (0..count).map(|pair| 2 * pair));
                extend(&mut places, (0..count).map(|pair| 2 * pair + 1));
            }
            Pairs::Halves => {
                extend(&mut places, 0..count);
                extend(&mut places, count..2 * count);
            }
        }
        let half = places.len() / 2;
        extend(&mut places, rotated..head);
        Self { places, half }
    }

    /// Returns the number of places, a multiple of a word's values.
    pub fn width(&self) -> usize {
        self.places.len()
    }

    /// Returns the feature at each place of `heads` heads, counted over all heads.
    pub fn features(&self, heads: usize, head: usize) -> Vec<Option<usize>> {
        let of_head =
            |index: usize| self.places.iter().map(move |place| place.map(|feature| index * head + feature));
        (0..heads).flat_map(of_head).collect()
    }

    /// Returns a value for each place of a head: `of` a feature, and 0 for places without a
    /// feature.
    pub fn spread(&self, of: impl Fn(usize) -> f32) -> Vec<f32> {
        self.places.iter().map(|place| place.map_or(0.0, &of)).collect()
    }

    /// Returns the factors of a rotation: for each place the cosine of its pair, and the sine with
    /// the sign with which the pair's other feature is added. Features that are not rotated have
    /// cosine 1.
    pub fn turns(&self, turns: &[(f32, f32)]) -> [Vec<f32>; 2] {
        let turn =
            |place: usize| turns.get(place % self.half.max(1)).copied().filter(|_| place < 2 * self.half);
        let cosine = |(place, feature): (usize, &Option<usize>)| match (turn(place), feature) {
            (Some((cosine, _)), Some(_)) => cosine,
            (None, Some(_)) => 1.0,
            (_, None) => 0.0,
        };
        let sine = |(place, feature): (usize, &Option<usize>)| match (turn(place), feature) {
            (Some((_, sine)), Some(_)) if place < self.half => -sine,
            (Some((_, sine)), Some(_)) => sine,
            _ => 0.0,
        };
        let all = || self.places.iter().enumerate();
        // Positions without a feature in the first half have no partner to rotate with.
        [all().map(cosine).collect(), all().map(sine).collect()]
    }
}

/// Adds features, and fills the last word.
fn extend(places: &mut Vec<Option<usize>>, features: impl Iterator<Item = usize>) {
    places.extend(features.map(Some));
    places.resize(places.len().next_multiple_of(WORD_LANES), None);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head of 14 features, the first 10 in pairs of neighbors or halves.
    #[test]
    fn pairs_are_in_two_halves_of_whole_words() {
        let neighbors = HeadLayout::rotated(14, 10, Pairs::Neighbors);
        assert_eq!((neighbors.width(), neighbors.half), (24, 8));
        let feature = |place: usize| neighbors.features(2, 14)[place];
        assert_eq!([0, 4, 8, 12].map(feature), [Some(0), Some(8), Some(1), Some(9)]);
        assert_eq!([5, 16, 19, 20, 24, 47].map(feature), [None, Some(10), Some(13), None, Some(14), None]);
        let halves = HeadLayout::rotated(14, 10, Pairs::Halves);
        assert_eq!([halves.features(1, 14)[1], halves.features(1, 14)[9]], [Some(1), Some(6)]);
        assert_eq!(HeadLayout::plain(12).width(), 16);
    }

    /// `x cos + swapped sin` rotates each pair.
    #[test]
    fn factors_rotate_pairs() {
        let layout = HeadLayout::rotated(6, 4, Pairs::Neighbors);
        let turns = [(0.6, 0.8), (0.0, 1.0)];
        let [cosines, sines] = layout.turns(&turns);
        let x = layout.spread(|feature| feature as f32 + 1.0);
        let rotated = |place: usize| {
            let other = if place < 8 {
                place + 8
            } else if place < 16 {
                place - 8
            } else {
                place
            };
            x[place] * cosines[place] + x[other] * sines[place]
        };
        let close =
            |place: usize, expected: f32| assert!((rotated(place) - expected).abs() < 1e-6, "{place}");
        // Features 1 and 2 are rotated, then 3 and 4. Features 5 and 6 are not rotated.
        [(0, 0.6 - 1.6), (8, 1.2 + 0.8), (1, -4.0), (9, 3.0), (16, 5.0), (17, 6.0), (2, 0.0), (18, 0.0)]
            .into_iter()
            .for_each(|(place, expected)| close(place, expected));
    }
}
