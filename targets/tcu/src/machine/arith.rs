//! [`Arithmetic`]: what the machine computes with; the five number formats implement it.
//!
//! The meaning of instructions does not depend on their scalars. [`crate::machine::exec`] defines
//! it; this trait is what it requires of scalars.

pub(crate) mod field;
pub(crate) mod interval;

use std::fmt::Debug;

use npukit_numeric::{ArrayWeights, Number, Rows, Saturations, array_product};

use crate::isa::fault::FaultKind;
use crate::isa::op::SimdOp;
use crate::machine::alu;
use crate::machine::lut::Tables;

/// Scalars, and the operations of the array and the ALUs on them.
pub(crate) trait Arithmetic: Sized + Send + 'static {
    /// Type of the elements of memories.
    type Scalar: Clone + Default + PartialEq + Debug + Send + Sync + 'static;
    /// Content of the array.
    type Weights: Weights<Self::Scalar>;
    /// Record of operations; for numbers, the count of saturated results.
    type Ledger: Clone + Send;

    /// Multiplies rows by the weights and adds the bias, into the first `rows.count` vectors of
    /// `results`.
    fn product(
        weights: &Self::Weights,
        rows: Rows<'_, Self::Scalar>,
        results: &mut [Self::Scalar],
        ledger: &mut Self::Ledger,
    );

    /// Computes `out = op(left, right)` in every lane; all three have the same length.
    fn operate(
        op: SimdOp,
        left: &[Self::Scalar],
        right: &[Self::Scalar],
        out: &mut [Self::Scalar],
        ledger: &mut Self::Ledger,
    );

    /// Returns the difference of `argument` to its closest key, and stores the key's value in each
    /// table, starting at table 1, into `values`.
    ///
    /// # Errors
    ///
    /// Tables that are not loaded, or too short.
    fn look_up(
        tables: &Tables<Self::Scalar>,
        argument: &Self::Scalar,
        values: &mut [Self::Scalar],
        ledger: &mut Self::Ledger,
    ) -> Result<Self::Scalar, FaultKind>;
}

/// The rows of an array, the bias first.
pub(crate) trait Weights<T>: Clone + Send {
    /// Creates rows of zeros.
    fn zeros(lanes: usize) -> Self;
    /// Replaces row `k`, `0..=lanes`.
    fn set_row(&mut self, k: usize, row: &[T]);
    /// Sets row `k` to zero.
    fn clear_row(&mut self, k: usize);
    /// Moves row `k` to `k + count`. Rows moved past the last are lost; the first `count` rows keep
    /// their content.
    fn shift(&mut self, count: usize);
}

impl<F: Number> Arithmetic for F {
    type Scalar = F::Raw;
    type Weights = ArrayWeights<F>;
    type Ledger = Saturations;

    fn product(
        weights: &Self::Weights,
        rows: Rows<'_, F::Raw>,
        results: &mut [F::Raw],
        saturations: &mut Saturations,
    ) {
        array_product::<F>(weights, rows, results, saturations);
    }

    fn operate(
        op: SimdOp,
        left: &[F::Raw],
        right: &[F::Raw],
        out: &mut [F::Raw],
        saturations: &mut Saturations,
    ) {
        alu::operate::<F>(op, left, right, out, saturations);
    }

    fn look_up(
        tables: &Tables<F::Raw>,
        &argument: &F::Raw,
        values: &mut [F::Raw],
        saturations: &mut Saturations,
    ) -> Result<F::Raw, FaultKind> {
        let found = tables.find::<F>(argument, saturations)?;
        for (table, value) in (1..).zip(values) {
            *value = tables.value(table, found.entry)?;
        }
        Ok(F::from_raw(found.difference))
    }
}

impl<F: Number> Weights<F::Raw> for ArrayWeights<F> {
    fn zeros(lanes: usize) -> Self {
        Self::new(lanes, lanes)
    }
    fn set_row(&mut self, k: usize, row: &[F::Raw]) {
        self.set_row(k, row);
    }
    fn clear_row(&mut self, k: usize) {
        self.clear_row(k);
    }
    fn shift(&mut self, count: usize) {
        self.shift(count);
    }
}
