//! Implementation of the executor's values for numbers.

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::isa::op::Access;
use crate::machine::array::Elements;
use crate::machine::memory::Memory;

use crate::machine::exec::numbers::{NumberRules, elements, saturated};
use crate::machine::exec::{fixed, literal};
use crate::machine::values::{Addressed, Arithmetic, Tap, Values};

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
