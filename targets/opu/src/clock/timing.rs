//! Instruction costs: [`Costs`], the functions of the specification's section 8.3 with the
//! parameters of [`Timing`]. Start times are computed by [`crate::clock`].

use crate::config::{Config, StoreReads, Timing, Types, Validity};
use crate::isa::fault::FaultKind;
use crate::isa::memory::SLOT;
use crate::isa::op::{Op, Pool, Registers, Shape, configuration};

/// Cost of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Cycles for which the instruction occupies its engine.
    pub cycles: u64,
    /// Number of these cycles, from the first, that read the partial sums.
    pub reads: u64,
    /// Number of these cycles, from the first, that hold the DRAM port.
    pub port: u64,
    /// Words moved over the DRAM port.
    pub words: u64,
}

/// Cost functions of an instance.
#[derive(Clone, Debug)]
pub struct Costs {
    timing: Timing,
    types: Types,
    validity: Validity,
}

impl Costs {
    /// Creates the cost functions of `config`.
    pub fn new(config: &Config) -> Self {
        Self { timing: config.timing.clone(), types: config.types, validity: config.validity }
    }

    /// Returns the timing parameters.
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Returns how literally the draft specification is followed.
    pub(crate) const fn validity(&self) -> Validity {
        self.validity
    }

    /// Returns the element types.
    pub(crate) const fn types(&self) -> &Types {
        &self.types
    }

    /// Returns the cost of an instruction with these registers; zero for the work of the front end
    /// itself.
    ///
    /// # Errors
    ///
    /// [`FaultKind::UndefinedRegister`] if a register on which the cost depends was never set.
    #[inline]
    pub fn of(&self, op: &Op, registers: &Registers) -> Result<Cost, FaultKind> {
        Ok(match *op {
            Op::End | configuration!() => Cost::default(),
            Op::LoadIfm { .. } => self.load_ifm(registers.ifm_shape()?),
            Op::LoadKer { .. } => self.load_ker(registers.slices()?, registers.ofm_c()?, registers.ifm_c()?),
            Op::LoadBias { .. } => self.load_bias(registers.ofm_c()?),
            Op::Conv { .. } => self.conv(registers.ofm_shape()?, registers.ifm_c()?),
            Op::Store { .. } => self.store(registers.ofm_shape()?, registers.pool()?),
            Op::Pad { p, .. } => {
                let map = registers.ofm_memory("ofm_mem_h")?;
                let inside = |side: u32| u64::from(side.saturating_sub(p.saturating_mul(2)));
                self.pad(u64::from(map.h) * u64::from(map.w) - inside(map.h) * inside(map.w))
            }
        })
    }

    /// Returns the cost of an `ld.ifm` of a tile, which is loaded row by row.
    pub fn load_ifm(&self, tile: Shape) -> Cost {
        let row = self.words(u64::from(tile.w) * u64::from(SLOT * self.types.itype.size_bytes()));
        let cycles = u64::from(tile.h) * (self.bursts(row) + u64::from(self.timing.ifm_row_latency));
        Self::load(cycles, u64::from(tile.h) * row)
    }

    /// Returns the cost of an `ld.ker` of `n` slices.
    pub fn load_ker(&self, n: u32, ofm_c: u32, ifm_c: u32) -> Cost {
        let elements = u64::from(n) * u64::from(ofm_c) * u64::from(ifm_c);
        let words = self.words(elements * u64::from(self.types.ktype.size_bytes()));
        let latency =
            u64::from(self.timing.ker_latency) + u64::from(n) * u64::from(self.timing.ker_tap_latency);
        Self::load(self.bursts(words) + latency, words)
    }

    /// Returns the cost of an `ld.bias` of `ofm_c` biases.
    pub fn load_bias(&self, ofm_c: u32) -> Cost {
        let words = self.words(u64::from(ofm_c) * u64::from(self.types.btype.size_bytes()));
        Self::load(self.bursts(words) + u64::from(self.timing.bias_latency), words)
    }

    /// Returns the cost of a `conv`: the cycles per pixel follow from its products and the number
    /// of multipliers.
    pub fn conv(&self, ofm: Shape, ifm_c: u32) -> Cost {
        let products = u64::from(ifm_c) * u64::from(ofm.c);
        let cycles = ofm.pixels() as u64 * products.div_ceil(u64::from(self.timing.macs_per_cycle));
        Cost { cycles: cycles + u64::from(self.timing.conv_pipe), ..Cost::default() }
    }

    /// Returns the cost of a `store`. It holds the port for its words; if it reads one partial sum
    /// per cycle, it occupies its engine for longer.
    pub fn store(&self, ofm: Shape, pool: Pool) -> Cost {
        let result = pool.result(ofm);
        let pixels = result.pixels() as u64;
        let words = pixels * self.words(u64::from(ofm.c) * u64::from(self.types.itype.size_bytes()));
        let reads = match self.timing.store_reads {
            StoreReads::Results => words,
            StoreReads::Windows => words.max(pixels * u64::from(pool.h) * u64::from(pool.w)),
        };
        Cost { cycles: reads + u64::from(self.timing.store_latency), reads, port: words, words }
    }

    /// Returns the cost of a `pad` of `slots` slots. If a `pad` takes no cycles, its words are not
    /// counted as traffic either.
    pub fn pad(&self, slots: u64) -> Cost {
        let words = slots * self.words((SLOT * self.types.itype.size_bytes()).into());
        let cycles = words * u64::from(self.timing.pad_cycles_per_slot);
        Cost { cycles, reads: 0, port: cycles, words: words.min(cycles) }
    }

    /// A load holds the port from its first request to its last word.
    const fn load(cycles: u64, words: u64) -> Cost {
        Cost { cycles, reads: 0, port: cycles, words }
    }

    fn words(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.timing.port_bytes_per_cycle))
    }

    fn bursts(&self, words: u64) -> u64 {
        words.div_ceil(u64::from(self.timing.burst_words))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const TILE: Shape = Shape { h: 38, w: 38, c: 64 };
    const OUT: Shape = Shape { h: 36, w: 36, c: 64 };

    fn costs(preset: &str) -> Costs {
        Costs::new(&Config::preset(preset).unwrap())
    }

    /// Specification, 8.5.
    #[test]
    fn a_perfect_tile_is_as_derived() {
        let ideal = costs("ideal");
        assert_eq!(9 * ideal.conv(OUT, 64).cycles, 46_656);
        assert_eq!(ideal.load_ifm(TILE).cycles + ideal.load_ker(9, 64, 64).cycles, 1444 + 576);
        assert_eq!(ideal.store(OUT, Pool::NONE).cycles, 1296);
        // 16 by 16 channels use only a quarter of the multipliers and take as many cycles.
        assert_eq!(ideal.conv(Shape { c: 16, ..OUT }, 16).cycles, 1296);
    }

    /// Specification, 8.3, column "detailed".
    #[test]
    fn bursts_and_latencies_are_those_of_the_profiler() {
        let detailed = costs("detailed");
        assert_eq!(detailed.load_ifm(TILE).cycles, 38 * (5 + 20));
        assert_eq!(detailed.load_ker(9, 64, 64).cycles, 576 / 8 + 20);
        assert_eq!(detailed.load_bias(64).cycles, 1 + 20);
        assert_eq!(detailed.conv(OUT, 64).cycles, 4 * 1296 + 30);
        let pool = Pool { h: 2, w: 2, stride_h: 2, stride_w: 2 };
        let store = detailed.store(OUT, pool);
        assert_eq!((store.cycles, store.reads, store.words), (4 * 324 + 20, 4 * 324, 324));
        assert_eq!(detailed.pad(100).cycles, 100);
    }

    #[test]
    fn wide_elements_take_more_words() {
        let int16 = costs("int16");
        let row = 38 * 2 + u64::from(int16.timing().ifm_row_latency);
        assert_eq!(int16.load_ifm(TILE).cycles, 38 * row);
        assert_eq!(int16.store(OUT, Pool::NONE).words, 2 * 1296);
    }
}
