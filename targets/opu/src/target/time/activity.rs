//! [`activity`]: multiply-accumulates and bytes by memory.

use npukit_target::{Activity, CountedMemory, MacType, MemoryClass, TargetError};

use crate::clock::timing::Costs;
use crate::config::area::{CHANNELS, PIXELS, SLICES, WEIGHTS};
use crate::config::datatype::DataType;
use crate::config::{Config, Types};
use crate::isa::fault::FaultKind;
use crate::isa::memory::SLOT;
use crate::isa::op::{Addend, Op, Registers};
use crate::program::Program;

/// Bytes of DRAM and of the buffers ifm, ker, bias and ofm.
type Bytes = [u64; 5];

/// Returns the counts of a program, as its instructions define them. DRAM moves the same words as
/// in the clock. A convolution reads its kernel slice once, and each feature once for each pixel.
///
/// Errors: an instruction that uses a register before it is set.
pub(in crate::target) fn activity(program: &Program) -> Result<Activity, TargetError> {
    let config = &program.config;
    let (mut registers, counter) = (Registers::default(), Counter { config, costs: Costs::new(config) });
    let mut activity = Activity::new(mac_type(&config.types), memories(config), program.layers.len());
    for (index, (op, layer)) in program.instructions.iter().zip(program.layer_of_each()).enumerate() {
        registers.set(op);
        let (macs, bytes) = counter.of(op, &registers).map_err(|fault| {
            TargetError::failed(format!("{}: {fault}; {}", program.place(index), fault.hint()))
        })?;
        activity.add(layer, macs, &bytes);
        if *op == Op::End {
            break;
        }
    }
    Ok(activity)
}

/// Counts of single instructions.
struct Counter<'a> {
    config: &'a Config,
    costs: Costs,
}

impl Counter<'_> {
    /// Returns the multiply-accumulates and the bytes of an instruction.
    fn of(&self, op: &Op, registers: &Registers) -> Result<(u64, Bytes), FaultKind> {
        let Types { itype, btype, ktype, otype } = self.config.types;
        let of = |elements: u64, data_type: DataType| elements.saturating_mul(data_type.size_bytes().into());
        let dram = self.costs.of(op, registers)?.words * u64::from(self.config.timing.port_bytes_per_cycle);
        Ok(match *op {
            Op::LoadIfm { .. } => {
                let slots = registers.ifm_shape()?.pixels() as u64;
                (0, [dram, of(slots * u64::from(SLOT), itype), 0, 0, 0])
            }
            Op::LoadKer { .. } => {
                let slice = u64::from(registers.ofm_c()?) * u64::from(registers.ifm_c()?);
                (0, [dram, 0, of(u64::from(registers.slices()?) * slice, ktype), 0, 0])
            }
            Op::LoadBias { .. } => (0, [dram, 0, 0, of(registers.ofm_c()?.into(), btype), 0]),
            Op::Conv { addend, .. } => {
                let (ofm, ifm_c) = (registers.ofm_shape()?, u64::from(registers.ifm_c()?));
                let (pixels, channels) = (ofm.pixels() as u64, u64::from(ofm.c));
                let sums = pixels * channels;
                let (bias, passes) = match addend {
                    Addend::Zero => (0, 1),
                    Addend::Bias => (channels, 1),
                    Addend::Ofm => (0, 2),
                };
                let (features, weights) = (of(pixels * ifm_c, itype), of(ifm_c * channels, ktype));
                (sums * ifm_c, [dram, features, weights, of(bias, btype), of(passes * sums, otype)])
            }
            Op::Store { .. } => {
                let (ofm, pool) = (registers.ofm_shape()?, registers.pool()?);
                let window = u64::from(pool.h) * u64::from(pool.w);
                let sums = pool.result(ofm).pixels() as u64 * window * u64::from(ofm.c);
                (0, [dram, 0, 0, 0, of(sums, otype)])
            }
            _ => (0, [dram, 0, 0, 0, 0]),
        })
    }
}

/// Returns the memories in the order of [`Bytes`]. The size of DRAM is the range that addresses
/// reach.
fn memories(config: &Config) -> Vec<CountedMemory> {
    let Types { itype, btype, ktype, otype } = config.types;
    let sram = |name, elements: u64, data_type: DataType| {
        CountedMemory::new(name, MemoryClass::Sram, elements * u64::from(data_type.size_bytes()))
    };
    vec![
        CountedMemory::new("dram", MemoryClass::Dram, crate::isa::memory::MEMORY_BYTES),
        sram("ifm", PIXELS * CHANNELS, itype),
        sram("ker", SLICES * WEIGHTS, ktype),
        sram("bias", CHANNELS, btype),
        sram("ofm", PIXELS * CHANNELS, otype),
    ]
}

/// Returns the type of the wider operand of a product.
fn mac_type(types: &Types) -> MacType {
    let bits = |data_type: DataType| data_type.fixed().map(|fixed| fixed.width());
    match (types.itype, types.ktype) {
        (DataType::Fp32, _) | (_, DataType::Fp32) => MacType::Fp32,
        (DataType::Bf16, _) | (_, DataType::Bf16) => MacType::Bf16,
        (DataType::Fp16, _) | (_, DataType::Fp16) => MacType::Fp16,
        // Default: both are fixed point here.
        (features, weights) => MacType::of_bits(bits(features).max(bits(weights)).unwrap_or(0)),
    }
}
