//! Rotation of queries and keys, and attention.

use npukit_numeric::dot;
use rayon::prelude::*;

use super::{Description, LayerForm, Pairs, Rotation};

/// Cosines and sines of the positions of new tokens.
pub(super) struct Turns {
    /// Number of rotated features of a head.
    features: usize,
    pairs: Pairs,
    /// Cosine and sine of each pair, position by position.
    values: Vec<(f32, f32)>,
}

impl Turns {
    /// Returns the turns of `count` positions starting at `first`, in a text that ends with them.
    pub(super) fn new(rotation: &Rotation, pairs: Pairs, first: usize, count: usize) -> Self {
        let turns = |position| rotation.turns(position, first + count);
        let values = (first..first + count).flat_map(turns).collect();
        Self { features: rotation.features, pairs, values }
    }

    /// Rotates the heads of `x`, `[tokens, heads, head]`.
    pub(super) fn apply(&self, x: &mut [f32], heads: usize, head: usize) {
        let count = self.features / 2;
        for (token, turns) in x.chunks_exact_mut(heads * head).zip(self.values.chunks_exact(count)) {
            for features in token.chunks_exact_mut(head) {
                for (pair, &(cosine, sine)) in turns.iter().enumerate() {
                    let [a, b] = match self.pairs {
                        Pairs::Neighbors => [2 * pair, 2 * pair + 1],
                        Pairs::Halves => [pair, pair + count],
                    };
                    let (x, y) = (features[a], features[b]);
                    features[a] = x * cosine - y * sine;
                    features[b] = y * cosine + x * sine;
                }
            }
        }
    }
}

/// Keys and values of a layer, `[positions, kv_heads * head]` each.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    pub(super) keys: Vec<f32>,
    pub(super) values: Vec<f32>,
}

/// Lets each of the last tokens attend to the positions up to its own or, in an encoder, to all
/// positions. `queries` and the result are `[tokens, heads * head]`.
pub(super) fn attend(of: &Description, form: LayerForm, queries: &[f32], cache: &Cache) -> Vec<f32> {
    let width = of.heads * of.head;
    let all = cache.keys.len() / (of.kv_heads * of.head);
    let first = all - queries.len() / width;
    let mut results = vec![0.0; queries.len()];
    results.par_chunks_exact_mut(of.head).enumerate().for_each(|(index, result)| {
        let (token, head) = (index / of.heads, index % of.heads);
        let end = if of.is_encoder() { all } else { first + token + 1 };
        // Default: without a window, attention begins at the first position.
        let begin = form.window.map_or(0, |window| end.saturating_sub(window));
        let query = &queries[index * of.head..][..of.head];
        let place = |position: usize| (position * of.kv_heads + head / of.group()) * of.head;
        let mut shares: Vec<f32> = (begin..end)
            .map(|position| score(of, dot(query, &cache.keys[place(position)..][..of.head])))
            .collect();
        softmax(&mut shares);
        for (position, share) in (begin..end).zip(shares) {
            let value = &cache.values[place(position)..][..of.head];
            result.iter_mut().zip(value).for_each(|(result, value)| *result += share * value);
        }
    });
    results
}

fn score(of: &Description, product: f32) -> f32 {
    capped(product * of.attention_scale, of.attention_cap)
}

/// Bounds `x` smoothly by a cap.
pub(super) fn capped(x: f32, cap: Option<f32>) -> f32 {
    cap.map_or(x, |cap| cap * (x / cap).tanh())
}

fn softmax(x: &mut [f32]) {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    x.iter_mut().for_each(|x| *x = (*x - largest).exp());
    let sum: f32 = x.iter().sum();
    x.iter_mut().for_each(|x| *x /= sum);
}
