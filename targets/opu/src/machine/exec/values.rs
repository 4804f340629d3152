//! What the executor computes with: [`Values`], of which numbers are one kind, elements of a field another, and ranges a third.
//!
//! Instructions mean the same whatever they compute with: addresses, shapes, order and faults are in [`crate::machine::exec`], and
//! this is what it asks of values.

use std::fmt::Debug;

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::Access;
use crate::machine::memory::Memory;
use crate::machine::state::Elements;

use super::conv::Tap;
use super::numbers::{NumberRules, elements, saturated};
use super::store::Rules;
use super::{Arithmetic, fixed, literal};

/// A memory by byte addresses.
pub trait Addressed {
    /// The first of `bytes` bytes from `address` on that was never written, where reading such is a fault.
    fn unwritten(&self, address: u64, bytes: usize) -> Option<u64>;

    /// Makes `bytes` bytes from `address` on 0.
    fn clear(&mut self, address: u64, bytes: u64);
}

/// What a buffer holds.
pub trait Values: Sized {
    /// What holds them outside the buffers.
    type Memory: Addressed;
    /// One of them, on its way through `store`.
    type Scalar: Clone;
    /// What operations note, and make values with.
    type Ledger: Clone + Debug;
    /// How `store` computes.
    type Rules: Rules<Self>;

    /// As many zeros of a type.
    fn zeros(data_type: DataType, len: usize) -> Self;

    /// The value at `index`, which is below the length.
    fn at(&self, index: usize) -> Self::Scalar;

    /// Values of ITYPE.
    fn of(itype: DataType, values: Vec<Self::Scalar>) -> Self;

    /// The values of a type that `access` reads, in its order.
    ///
    /// # Errors
    ///
    /// Position and bits of the first that is not a finite number.
    fn load(memory: &Self::Memory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)>;

    /// Writes values of a type where `access` says, in its order.
    fn store(memory: &mut Self::Memory, access: &Access, data_type: DataType, values: &Self);

    /// The results of a tap, into `sums`.
    fn conv(tap: &Tap<'_, Self>, arithmetic: Arithmetic, sums: &mut Self, ledger: &mut Self::Ledger);

    /// How `store` computes.
    fn rules(types: &Types, arithmetic: Arithmetic) -> Self::Rules;

    /// How many partial sums were too large.
    fn saturated(types: &Types, ofm: &Self) -> u64;
}

impl Addressed for Memory {
    fn unwritten(&self, address: u64, bytes: usize) -> Option<u64> {
        self.is_poisoned().then(|| self.unwritten(address, bytes)).flatten()
    }

    fn clear(&mut self, address: u64, bytes: u64) {
        self.clear(address, bytes);
    }
}

impl Values for Elements {
    type Memory = Memory;
    type Scalar = i32;
    type Ledger = ();
    type Rules = NumberRules;

    fn zeros(data_type: DataType, len: usize) -> Self {
        Self::zeros(data_type, len)
    }

    fn at(&self, index: usize) -> i32 {
        self.get(index)
    }

    fn of(itype: DataType, values: Vec<i32>) -> Self {
        elements(itype, values)
    }

    fn load(memory: &Memory, access: &Access, data_type: DataType) -> Result<Self, (usize, u32)> {
        let (slot, used) = (access.slot as usize, access.used as usize);
        let (rows, slots) = (access.rows as usize, access.slots as usize);
        let mut bytes = Vec::with_capacity(rows * slots * used);
        let mut row = vec![0; slots.saturating_sub(1) * slot + used];
        for y in 0..access.rows {
            memory.read(access.base + u64::from(y) * access.pitch, &mut row);
            (0..slots).for_each(|index| bytes.extend_from_slice(&row[index * slot..][..used]));
        }
        Self::from_bytes(data_type, &bytes)
    }

    fn store(memory: &mut Memory, access: &Access, _: DataType, values: &Self) {
        let mut bytes = &values.to_bytes()[..];
        for run in access.runs() {
            let (written, rest) = bytes.split_at(run.bytes() as usize);
            memory.write(run.first, written);
            bytes = rest;
        }
    }

    fn conv(tap: &Tap<'_, Self>, arithmetic: Arithmetic, sums: &mut Self, (): &mut ()) {
        let fast = arithmetic == Arithmetic::Fast && (fixed::narrow(tap, sums) || fixed::wide(tap, sums));
        if !fast {
            literal::conv(tap, sums);
        }
    }

    fn rules(types: &Types, arithmetic: Arithmetic) -> NumberRules {
        NumberRules::new(types, arithmetic)
    }

    fn saturated(types: &Types, ofm: &Self) -> u64 {
        saturated(types, ofm)
    }
}
