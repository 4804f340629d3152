//! What the machine computes with: [`Arithmetic`], of which the number formats are five.
//!
//! Instructions mean the same whatever their scalars are. [`crate::machine::exec`] says what; this is what it asks of scalars.

pub(crate) mod field;
pub(crate) mod interval;

use std::fmt::Debug;

use npukit_numeric::{ArrayWeights, Number, Rows, Saturations, array_product};

use crate::isa::fault::FaultKind;
use crate::isa::op::SimdOp;
use crate::machine::lanes;
use crate::machine::lut::Tables;

/// Scalars, and what the array and the ALUs do with them.
pub(crate) trait Arithmetic: Sized + Send + 'static {
    /// What memories hold.
    type Scalar: Clone + Default + PartialEq + Debug + Send + Sync + 'static;
    /// What the array holds.
    type Weights: Weights<Self::Scalar>;
    /// What operations note: of numbers, what was clamped.
    type Ledger: Clone + Send;

    /// Rows times the weights, and the bias: into the first `rows.count` vectors of `results`.
    fn product(
        weights: &Self::Weights,
        rows: Rows<'_, Self::Scalar>,
        results: &mut [Self::Scalar],
        ledger: &mut Self::Ledger,
    );

    /// `out = op(left, right)` in every lane; all three have the same length.
    fn operate(
        op: SimdOp,
        left: &[Self::Scalar],
        right: &[Self::Scalar],
        out: &mut [Self::Scalar],
        ledger: &mut Self::Ledger,
    );

    /// The difference of `argument` to its key, and the key's value in each of the tables from 1 on into `values`.
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
    /// All zero.
    fn zeros(lanes: usize) -> Self;
    /// Replaces row `k`, `0..=lanes`.
    fn set_row(&mut self, k: usize, row: &[T]);
    /// Makes row `k` zero.
    fn clear_row(&mut self, k: usize);
    /// Moves row `k` to `k + count`; rows moved past the last are lost, the first `count` stay as they were.
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
        lanes::operate::<F>(op, left, right, out, saturations);
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
