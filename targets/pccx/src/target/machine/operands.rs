//! Operands of single numbers that an instruction writes.

use npukit_numeric::BLOCK;
use npukit_target::{AddressRun, Operand, Scalar};

use super::{Stepped, Use};
use crate::config::{Profile, Reading, WORD_LANES};
use crate::host::asm_run::Kind;
use crate::isa::fault::Direction;
use crate::isa::op::{Cache, Cvo, CvoFunc, Device, Mac, Memcpy, Op, weights_in_l2};
use crate::program::runtime::Moment as Happens;

impl Stepped {
    /// Returns the operands of `scalar`, which the step has written; empty for MEMSET and for data
    /// from the host.
    pub(super) fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        let Some(&Happens::Instruction(index)) = self.steps.get(step) else { return Vec::new() };
        let (Some(op), Some(used)) = (self.executable.program.code.get(index), self.uses.get(index)) else {
            return Vec::new();
        };
        let is_upstream = self.config.profile == Profile::Upstream;
        match (op, self.kinds.get(scalar.memory)) {
            (Op::Gemv(mac) | Op::Gemm(mac), Some(Kind::L2)) => self.of_product(index, mac, used, scalar),
            (Op::Cvo(cvo), Some(Kind::L2)) if !is_upstream => self.of_function(cvo, scalar),
            (Op::Memcpy(memcpy), Some(_)) => self.of_copy(memcpy, scalar),
            (Op::Memset(_), _) => Vec::new(),
            // A maximum may be any of the results, so all of them are operands.
            _ => self.all_read(index),
        }
    }

    /// Returns all operands that an instruction reads.
    fn all_read(&self, index: usize) -> Vec<Operand> {
        let reads = self.of_instruction(index).into_iter().filter(|accessed| !accessed.is_write);
        reads.map(|accessed| Operand { role: "read", run: accessed.run, lane: None, since: None }).collect()
    }

    /// Returns the operands of a GEMV or GEMM result: its row of activations, its row of weights
    /// with the factor, and the addend.
    fn of_product(&self, index: usize, mac: &Mac, used: &Use, scalar: Scalar) -> Vec<Operand> {
        let Use { fmap, weight, .. } = *used;
        let (n, k) = (u64::from(weight.y), u64::from(fmap.z));
        let place = place_of(scalar, mac.dest_reg).filter(|place| *place < u64::from(fmap.x) * n);
        let Some(place) = place else { return Vec::new() };
        let (row, column) = (place / n, place % n);
        let mut all = self.values("input", mac.src_addr, row * k, k);
        match weights_in_l2(fmap) {
            Some(word) => {
                let words = k.div_ceil(BLOCK as u64);
                all.extend(self.one("weights", Kind::L2, (u64::from(word) + column * words, words), None));
                if mac.flags.w_scale && weight.x == 0 {
                    let first = (u64::from(word) + n * words) * WORD_LANES as u64 + 2 * column;
                    all.extend(self.values("factor", 0, first, 2));
                }
            }
            None => {
                if let Some(number) = self.product(index) {
                    all.extend(self.one("weights", Kind::Weights(number), (column, 1), None));
                    let factor = || self.one("factor", Kind::Scales(number), (column, 1), None);
                    all.extend(mac.flags.w_scale.then(factor).flatten());
                }
            }
        }
        if mac.flags.accm {
            all.extend(self.number("added to", scalar));
        }
        all.extend(self.entry("shape", Cache::FmapShape, mac.shape_ptr_addr));
        let role = if self.config.reading == Reading::Seed { "size and factor" } else { "size" };
        all.extend(self.entry(role, Cache::WeightShape, mac.size_ptr_addr));
        all
    }

    /// Returns the operands of a CVO result: one or all arguments, the scalar, e_max, and the old
    /// value for addition or multiplication.
    fn of_function(&self, cvo: &Cvo, scalar: Scalar) -> Vec<Operand> {
        let (length, is_sum) = (u64::from(cvo.length), cvo.cvo_func == CvoFunc::ReduceSum);
        let results = if is_sum { 1 } else { length };
        let Some(place) = place_of(scalar, cvo.dst_addr).filter(|place| *place < results) else {
            return Vec::new();
        };
        let (first, count) = if is_sum { (0, length) } else { (place, 1) };
        let mut all = match cvo.cvo_func {
            CvoFunc::Scale => {
                let factor = self.values("factor", cvo.src_addr, 0, 1);
                let argument = self.values("argument", cvo.src_addr + 1, first, count);
                factor.into_iter().chain(argument).collect()
            }
            _ => self.values("argument", cvo.src_addr, first, count),
        };
        if cvo.flags.sub_emax {
            all.extend(self.one("less", Kind::Maximum, (0, 1), None));
        }
        if cvo.cvo_func == CvoFunc::Mul {
            all.extend(self.number("times", scalar));
        }
        if cvo.flags.accm {
            all.extend(self.number("added to", scalar));
        }
        all
    }

    /// Returns the source of a number that MEMCPY has moved.
    fn of_copy(&self, memcpy: &Memcpy, Scalar { address, lane, .. }: Scalar) -> Vec<Operand> {
        let Memcpy { dest_addr, src_addr, aux_addr, shape_ptr_addr, .. } = *memcpy;
        let window = Kind::Window(Direction::HostToL2, src_addr);
        let (kind, from, to) = match (memcpy.from_device, memcpy.to_device) {
            (Device::Host, _) => (window, aux_addr, dest_addr),
            (_, Device::Host) => (Kind::L2, src_addr, aux_addr),
            _ => (Kind::L2, src_addr, dest_addr),
        };
        let word = address.checked_sub(to.into()).map(|ahead| u64::from(from) + ahead);
        let copied = word.and_then(|word| self.one("copied", kind, (word, 1), Some(lane)));
        copied.into_iter().chain(self.entry("shape", Cache::FmapShape, shape_ptr_addr)).collect()
    }

    /// Returns an entry of a constant bank.
    fn entry(&self, role: &'static str, cache: Cache, entry: u8) -> Option<Operand> {
        self.one(role, Kind::Constants(cache), (entry.into(), 1), None)
    }

    /// Returns the old value of the number itself.
    fn number(&self, role: &'static str, Scalar { memory, address, lane }: Scalar) -> Option<Operand> {
        Some(Operand { role, run: AddressRun::dense(memory, address, 1), lane: Some(lane), since: None })
    }

    fn one(
        &self,
        role: &'static str,
        kind: Kind,
        (first, count): (u64, u64),
        lane: Option<usize>,
    ) -> Option<Operand> {
        Some(Operand { role, run: self.run(kind, first, count)?, lane, since: None })
    }

    /// Returns `count` values of L2, starting with value `first` after the start of a word: whole
    /// words, and single lanes of the first and last word.
    fn values(&self, role: &'static str, word: u32, first: u64, count: u64) -> Vec<Operand> {
        let lanes = WORD_LANES as u64;
        let (mut at, end) = (u64::from(word) * lanes + first, u64::from(word) * lanes + first + count);
        let mut all = Vec::new();
        while at < end {
            let whole = (end - at) / lanes;
            let (taken, words, lane) = match at % lanes {
                0 if whole > 0 => (whole * lanes, whole, None),
                lane => (1, 1, Some(lane as usize)),
            };
            all.extend(self.one(role, Kind::L2, (at / lanes, words), lane));
            at += taken;
        }
        all
    }
}

/// Returns the index of an L2 number, relative to the first value of a word.
fn place_of(Scalar { address, lane, .. }: Scalar, word: u32) -> Option<u64> {
    Some(address.checked_sub(word.into())? * WORD_LANES as u64 + lane as u64)
}
