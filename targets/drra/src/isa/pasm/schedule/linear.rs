//! [`Linear`]: linear expressions over integer variables.

use std::fmt;

/// Integer variable of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(pub usize);

/// `constant + factor * variable + ...`; arithmetic saturates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear {
    /// Variables in order, each once, with nonzero factors.
    terms: Vec<(Variable, i64)>,
    /// Constant term.
    pub constant: i64,
}

impl Linear {
    /// Expression without variables.
    pub const fn constant(constant: i64) -> Self {
        Self { terms: Vec::new(), constant }
    }

    /// Variables in order, each once, with their nonzero factors.
    pub fn terms(&self) -> &[(Variable, i64)] {
        &self.terms
    }

    /// Returns `self + factor * other`.
    #[must_use]
    pub fn plus(&self, factor: i64, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.constant = sum.constant.saturating_add(factor.saturating_mul(other.constant));
        for &(variable, by) in &other.terms {
            let by = factor.saturating_mul(by);
            match sum.terms.binary_search_by_key(&variable, |term| term.0) {
                Ok(at) => sum.terms[at].1 = sum.terms[at].1.saturating_add(by),
                Err(at) => sum.terms.insert(at, (variable, by)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        sum
    }

    /// Returns `self + by`.
    #[must_use]
    pub fn offset(mut self, by: i64) -> Self {
        self.constant = self.constant.saturating_add(by);
        self
    }

    /// Returns `factor * self`.
    #[must_use]
    pub fn times(&self, factor: i64) -> Self {
        Self::default().plus(factor, self)
    }

    /// Evaluates the expression with `values`, indexed by variable.
    pub fn value(&self, values: &[i64]) -> i64 {
        self.terms.iter().fold(self.constant, |sum, &(variable, factor)| {
            sum.saturating_add(factor.saturating_mul(values[variable.0]))
        })
    }

    /// Largest magnitude among its numbers.
    pub fn magnitude(&self) -> u64 {
        let factors = self.terms.iter().map(|term| term.1.unsigned_abs());
        factors.fold(self.constant.unsigned_abs(), u64::max)
    }
}

impl From<Variable> for Linear {
    fn from(variable: Variable) -> Self {
        Self { terms: vec![(variable, 1)], constant: 0 }
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (variable, factor) in &self.terms {
            write!(f, "{factor:+}*v{} ", variable.0)?;
        }
        write!(f, "{:+}", self.constant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_terms_meet_and_vanish() {
        let (a, b) = (Linear::from(Variable(0)), Linear::from(Variable(1)));
        let sum = a.plus(2, &b).offset(3).plus(1, &a);
        assert_eq!((sum.terms(), sum.constant), (&[(Variable(0), 2), (Variable(1), 2)][..], 3));
        assert_eq!(sum.value(&[5, 7]), 27);
        assert_eq!(sum.plus(-2, &a).terms(), [(Variable(1), 2)]);
        assert_eq!(sum.times(i64::MAX).value(&[1, 1]), i64::MAX);
    }
}
