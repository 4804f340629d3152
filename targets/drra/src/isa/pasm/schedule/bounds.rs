//! [`Bounds`] of variables, and the [`System`] of sums that narrows them.

use super::linear::{Linear, Variable};

/// Lower and upper bound of each variable, both included.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub low: Vec<i64>,
    pub high: Vec<i64>,
}

/// Maximum number of narrowing steps. Bounds stay correct, but may be wider than possible.
const MAX_STEPS: usize = 1 << 22;

/// No value is left for a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Empty;

/// Sums that are at most 0. The last sums can be removed again.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    sums: Vec<Linear>,
    /// Indices of the sums of each variable, in order.
    of_variable: Vec<Vec<usize>>,
}

impl Bounds {
    pub fn low(&self, variable: Variable) -> i64 {
        self.low[variable.0]
    }

    pub fn high(&self, variable: Variable) -> i64 {
        self.high[variable.0]
    }

    /// Smallest value of a sum within the bounds.
    pub fn minimum(&self, sum: &Linear) -> i64 {
        sum.terms().iter().fold(sum.constant, |least, &(variable, factor)| {
            let value = if factor > 0 { self.low(variable) } else { self.high(variable) };
            least.saturating_add(factor.saturating_mul(value))
        })
    }

    /// Narrows the bounds of one term, given the `slack` above the sum's minimum; returns whether
    /// they changed.
    fn narrow(&mut self, variable: Variable, factor: i64, slack: i64) -> bool {
        let (low, high) = (self.low(variable), self.high(variable));
        let step = slack / factor.abs().max(1);
        if factor > 0 {
            let limit = low.saturating_add(step);
            if limit < high {
                self.high[variable.0] = limit;
                return true;
            }
        } else {
            let limit = high.saturating_sub(step);
            if limit > low {
                self.low[variable.0] = limit;
                return true;
            }
        }
        false
    }
}

impl System {
    pub fn new(variables: usize) -> Self {
        Self { sums: Vec::new(), of_variable: vec![Vec::new(); variables] }
    }

    pub fn sums(&self) -> &[Linear] {
        &self.sums
    }

    pub fn push(&mut self, sum: Linear) {
        for (variable, _) in sum.terms() {
            self.of_variable[variable.0].push(self.sums.len());
        }
        self.sums.push(sum);
    }

    /// Removes all sums except the first `length`.
    pub fn truncate(&mut self, length: usize) {
        while self.sums.len() > length {
            let Some(sum) = self.sums.pop() else { return };
            for (variable, _) in sum.terms() {
                self.of_variable[variable.0].pop();
            }
        }
    }

    /// Narrows `bounds` as far as possible in [`MAX_STEPS`]. Only sums starting at index `first`,
    /// and sums with a `changed` variable, are new.
    ///
    /// # Errors
    ///
    /// No value is left for a variable.
    pub fn narrow(&self, bounds: &mut Bounds, first: usize, changed: &[Variable]) -> Result<(), Empty> {
        let mut waiting: Vec<usize> = (first..self.sums.len()).collect();
        let mut is_waiting = vec![false; self.sums.len()];
        for variable in changed {
            waiting.extend(&self.of_variable[variable.0]);
        }
        waiting.iter().for_each(|&sum| is_waiting[sum] = true);
        let (mut queue, mut steps) = (std::collections::VecDeque::from(waiting), 0_usize);
        // Narrowing without a contradiction takes far fewer steps than this. Afterwards, all
        // differences are examined together.
        let mut patience = 50 * self.sums.len() + 1000;
        while let Some(index) = queue.pop_front() {
            is_waiting[index] = false;
            steps += 1;
            if steps == patience {
                if self.has_positive_cycle(bounds) {
                    return Err(Empty);
                }
                patience *= 2;
            }
            if steps == MAX_STEPS {
                return Ok(());
            }
            let sum = &self.sums[index];
            // The sum must be at most 0. Each term may exceed its minimum by this slack while all
            // others are at their minimum.
            let slack = bounds.minimum(sum).saturating_neg();
            if slack < 0 {
                return Err(Empty);
            }
            for &(variable, factor) in sum.terms() {
                if !bounds.narrow(variable, factor, slack) {
                    continue;
                }
                if bounds.low(variable) > bounds.high(variable) {
                    return Err(Empty);
                }
                for &other in &self.of_variable[variable.0] {
                    if !is_waiting[other] {
                        is_waiting[other] = true;
                        queue.push_back(other);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the sums of form `x - y + c <= 0` as `(x, y, c)`: `y` is at least `c` after `x`.
    pub fn differences(&self) -> impl Iterator<Item = (Variable, Variable, i64)> {
        self.sums.iter().filter_map(|sum| match sum.terms() {
            [(x, 1), (y, -1)] => Some((*x, *y, sum.constant)),
            [(y, -1), (x, 1)] => Some((*x, *y, sum.constant)),
            _ => None,
        })
    }

    /// Whether differences contradict each other, which narrowing finds only one step at a time.
    fn has_positive_cycle(&self, bounds: &Bounds) -> bool {
        let edges: Vec<(Variable, Variable, i64)> =
            self.sums.iter().flat_map(|sum| implied_differences(sum, bounds)).collect();
        // Finds longest paths from any start with the Bellman-Ford algorithm. A path that still
        // grows after as many rounds as there are variables contains a cycle.
        let mut longest = vec![0_i64; self.of_variable.len()];
        for _ in 0..=longest.len() {
            let mut changed = false;
            for &(x, y, c) in &edges {
                let value = longest[x.0].saturating_add(c);
                if value > longest[y.0] {
                    longest[y.0] = value;
                    changed = true;
                }
            }
            if !changed {
                return false;
            }
        }
        true
    }
}

/// Returns the differences that a sum implies for each pair of its variables while the others keep
/// their bounds: `(x, y, c)` as in [`System::differences`].
fn implied_differences<'a>(
    sum: &'a Linear,
    bounds: &'a Bounds,
) -> impl Iterator<Item = (Variable, Variable, i64)> + 'a {
    let least = bounds.minimum(sum);
    let pairs = sum.terms().iter().flat_map(|&x| sum.terms().iter().map(move |&y| (x, y)));
    // A difference whose bound saturates implies nothing.
    let opposite =
        pairs.filter(move |&((_, x), (_, y))| x > 0 && x == y.saturating_neg() && least > i64::MIN / 2);
    opposite.map(move |((x, factor), (y, _))| {
        // The sum implies `factor * (x - y) + others <= 0`. This is the minimum of the others.
        let own = bounds.low(x).saturating_sub(bounds.high(y)).saturating_mul(factor);
        let others = least.saturating_sub(own);
        (x, y, others.div_euclid(factor) + i64::from(others.rem_euclid(factor) > 0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `left + by <= right`
    fn after(left: usize, by: i64, right: usize) -> Linear {
        Linear::from(Variable(left)).offset(by).plus(-1, &Variable(right).into())
    }

    fn bounds(variables: usize) -> Bounds {
        Bounds { low: vec![0; variables], high: vec![1_000_000_000; variables] }
    }

    #[test]
    fn bounds_meet_in_the_middle() {
        let mut system = System::new(3);
        system.push(after(0, 3, 1));
        system.push(after(1, 4, 2));
        system.push(Linear::from(Variable(2)).offset(-10));
        let mut bounds = bounds(3);
        assert_eq!(system.narrow(&mut bounds, 0, &[]), Ok(()));
        assert_eq!((bounds.low, bounds.high), (vec![0, 3, 7], vec![3, 6, 10]));
    }

    #[test]
    fn a_contradiction_is_found_long_before_the_horizon() {
        let mut system = System::new(2);
        system.push(after(0, 1, 1));
        system.push(after(1, 0, 0));
        assert_eq!(system.narrow(&mut bounds(2), 0, &[]), Err(Empty));
    }

    #[test]
    fn so_is_one_that_a_third_variable_is_part_of() {
        // The system is b >= a + t + 1 and a >= b - u, with t at least 2 and u at most 1.
        let [a, b, t, u] = [0, 1, 2, 3].map(|variable| Linear::from(Variable(variable)));
        let mut system = System::new(4);
        system.push(a.plus(1, &t).offset(1).plus(-1, &b));
        system.push(b.plus(-1, &a).plus(-1, &u));
        let mut bounds = bounds(4);
        (bounds.low[2], bounds.high[3]) = (2, 1);
        assert_eq!(system.narrow(&mut bounds, 0, &[]), Err(Empty));
        // A larger u resolves the contradiction.
        (bounds.low, bounds.high) = (vec![0, 0, 2, 0], vec![100, 100, 9, 3]);
        assert_eq!(system.narrow(&mut bounds, 0, &[]), Ok(()));
    }

    #[test]
    fn sums_are_taken_back() {
        let mut system = System::new(2);
        system.push(after(0, 1, 1));
        system.push(after(1, 0, 0));
        system.truncate(1);
        let mut bounds = bounds(2);
        assert_eq!(system.narrow(&mut bounds, 0, &[]), Ok(()));
        assert_eq!(bounds.low, [0, 1]);
    }

    #[test]
    fn factors_round_inwards() {
        let mut system = System::new(1);
        system.push(Linear::from(Variable(0)).times(3).offset(-10));
        system.push(Linear::from(Variable(0)).times(-4).offset(9));
        let mut bounds = bounds(1);
        assert_eq!(system.narrow(&mut bounds, 0, &[]), Ok(()));
        assert_eq!((bounds.low[0], bounds.high[0]), (3, 3));
    }
}
