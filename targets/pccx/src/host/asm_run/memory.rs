//! Memories of an assembly program and their names: [`memories`]. Windows are as large as the
//! program's MEMCPYs need.

use std::collections::BTreeMap;

use npukit_target::{MachineMemory, TargetError};

use crate::config::{CONSTANT_ENTRIES, Config, WINDOW_UNITS, WORD_BYTES, WORD_LANES};
use crate::host::asm_run::product::Products;
use crate::host::asm_run::{AsmRunError, bank};
use crate::isa::fault::Direction;
use crate::isa::op::{Banks, Cache, Device, Memcpy, Op, Shape};
use crate::isa::usage::words_of;
use crate::machine::arith::float::Reals;
use crate::machine::bf16::{bf_of_double, val};
use crate::machine::state::upstream_words;
use crate::machine::{AccessError, Machine};

/// Kind of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `l2`: words of eight BF16 values.
    L2,
    /// `fmap_shape`, `weight_shape`: entries of X, Y and Z.
    Constants(Cache),
    /// `e_max`: a BF16 value.
    Maximum,
    /// `host_to_l2.N`, `l2_to_host.N`: units of eight BF16 values.
    Window(Direction, u32),
    /// `weights.I`: rows of 4-bit weights of product I.
    Weights(usize),
    /// `scales.I`: `f32` factors of the rows of product I.
    Scales(usize),
}

impl Kind {
    /// Returns the view group, description and lane names of this memory.
    pub const fn view(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::L2 => ("l2", "words of eight BF16 values", &[]),
            Self::Constants(Cache::FmapShape) => ("engines", "shapes of activations", &["x", "y", "z"]),
            Self::Constants(Cache::WeightShape) => ("engines", "shapes of weights", &["x", "y", "z"]),
            Self::Maximum => ("engines", "largest exponent", &[]),
            Self::Window(Direction::HostToL2, _) => ("windows", "data from the host", &[]),
            Self::Window(Direction::L2ToHost, _) => ("windows", "data for the host", &[]),
            Self::Weights(_) => ("weights", "4-bit rows", &[]),
            Self::Scales(_) => ("weights", "a factor for each row", &[]),
        }
    }

    /// Converts a real value to a number of the memory; `None` for integers.
    pub fn number(self, real: f64) -> Option<i64> {
        match self {
            Kind::L2 | Kind::Maximum | Kind::Window(..) => Some(bf_of_double(real).into()),
            Kind::Scales(_) => Some((real as f32).to_bits().into()),
            Kind::Constants(_) | Kind::Weights(_) => None,
        }
    }

    /// Converts a number of the memory to a real value; `None` for integers.
    pub fn real(self, number: i64) -> Option<f64> {
        match self {
            Self::L2 | Self::Maximum | Self::Window(..) => Some(val(number as u16).into()),
            Self::Scales(_) => Some(f32::from_bits(number as u32).into()),
            Self::Constants(_) | Self::Weights(_) => None,
        }
    }
}

/// Writes numbers to a memory of the machine, starting at `address`.
///
/// # Errors
/// A constant bank, which only instructions write; an address after the end; weights and scales,
/// which are in host memory.
pub fn put(machine: &mut Machine, kind: Kind, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
    let patterns: Vec<u16> = numbers.iter().map(|&number| number as u16).collect();
    match kind {
        Kind::L2 => machine.write_l2(address as u32, &patterns).map_err(TargetError::failed),
        Kind::Constants(cache) => Err(TargetError::failed(AsmRunError::Constants { cache })),
        Kind::Maximum => {
            patterns.into_iter().for_each(|bits| machine.set_e_max(bits));
            Ok(())
        }
        Kind::Window(direction, number) => {
            let start = address as usize * WORD_BYTES;
            let bytes: Vec<u8> = patterns.into_iter().flat_map(u16::to_le_bytes).collect();
            // Default: a window without units has no bytes.
            let window = machine.window_mut(direction, number).unwrap_or_default();
            window[start..start + bytes.len()].copy_from_slice(&bytes);
            Ok(())
        }
        Kind::Weights(_) | Kind::Scales(_) => Err(TargetError::failed(AsmRunError::OfHost)),
    }
}

/// Returns the float reference values at `count` addresses, starting at `address`; zero where the
/// float machine has none. `None` for a memory of integers, and for host memory.
pub fn floats(machine: &Machine<Reals>, kind: Kind, address: u64, count: u64) -> Option<Vec<f64>> {
    let lanes = count as usize * WORD_LANES;
    let mut found = match kind {
        Kind::L2 => {
            let held = (machine.config().l2_words as usize).saturating_sub(address as usize) * WORD_LANES;
            machine.read_l2(address as u32, lanes.min(held)).ok()?.to_vec()
        }
        Kind::Maximum => vec![machine.e_max(); count as usize],
        Kind::Window(direction, number) => {
            let from = address as usize * WORD_LANES;
            machine.in_window(direction, number, from..from + lanes)?.collect()
        }
        Kind::Constants(_) | Kind::Weights(_) | Kind::Scales(_) => return None,
    };
    if kind == Kind::L2 {
        found.resize(lanes, 0.0);
    }
    Some(found)
}

/// Returns the numbers at `count` valid addresses, starting at `address`; `None` for weights and
/// scales, which are in host memory.
pub fn numbers(
    machine: &Machine,
    kind: Kind,
    address: u64,
    count: u64,
) -> Option<Result<Vec<i64>, AccessError>> {
    let (from, count) = (address as usize, count as usize);
    Some(match kind {
        Kind::L2 => machine
            .read_l2(address as u32, count * WORD_LANES)
            .map(|values| values.iter().map(|&bits| bits.into()).collect()),
        Kind::Constants(cache) => {
            let entry = |entry: usize| {
                let Shape { x, y, z } = machine.constant(cache, entry as u8);
                [x, y, z].map(i64::from)
            };
            Ok((from..from + count).flat_map(entry).collect())
        }
        Kind::Maximum => Ok(vec![machine.e_max().into(); count]),
        Kind::Window(direction, number) => {
            // Default: a window without units has no bytes.
            let bytes = machine.window(direction, number).unwrap_or_default();
            let bytes = &bytes[from * WORD_BYTES..(from + count) * WORD_BYTES];
            Ok(bytes.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair).into()).collect())
        }
        Kind::Weights(_) | Kind::Scales(_) => return None,
    })
}

/// Size in units of each window that a program uses.
pub type Windows = BTreeMap<(Direction, u32), u64>;

/// Returns the windows of a program.
pub fn windows(config: &Config, ops: &[Op]) -> Windows {
    let (mut banks, mut windows) = (Banks::default(), Windows::new());
    for op in ops {
        banks.step(op);
        let Op::Memcpy(memcpy) = op else { continue };
        let Some(window) = window(memcpy) else { continue };
        let shape = banks.fmap(memcpy.shape_ptr_addr);
        let words = match config.strict {
            // Default: a number that exceeds the range exceeds any window, too.
            true => words_of(usize::try_from(shape.product()).unwrap_or(usize::MAX)),
            false => upstream_words(shape),
        };
        let end = u64::from(memcpy.aux_addr).saturating_add(words).min(WINDOW_UNITS.into());
        let units = windows.entry(window).or_default();
        *units = end.max(*units);
    }
    windows
}

/// Returns the window that a MEMCPY uses.
const fn window(memcpy: &Memcpy) -> Option<(Direction, u32)> {
    match (memcpy.from_device, memcpy.to_device) {
        (Device::Host, Device::Npu) => Some((Direction::HostToL2, memcpy.src_addr)),
        (Device::Npu, Device::Host) => Some((Direction::L2ToHost, memcpy.dest_addr)),
        (Device::Npu, Device::Npu) | (Device::Host, Device::Host) => None,
    }
}

/// Returns the name of a window.
pub fn window_name(direction: Direction, number: u32) -> String {
    let side = match direction {
        Direction::HostToL2 => "host_to_l2",
        Direction::L2ToHost => "l2_to_host",
    };
    format!("{side}.{number}")
}

/// Returns the memories of a compiled program. Its weights have no names.
pub fn memories_of(config: &Config, windows: &Windows) -> Vec<(Kind, MachineMemory)> {
    memories(config, windows, &Products::new(&[], 0))
}

/// Returns all memories, L2 first.
pub fn memories(config: &Config, windows: &Windows, products: &Products) -> Vec<(Kind, MachineMemory)> {
    let memory = |kind, name: String, depth: u64, lanes, bits| {
        let is_signed = matches!(kind, Kind::Weights(_));
        (kind, MachineMemory { name, depth, lanes, bits, is_signed })
    };
    let mut all = vec![memory(Kind::L2, "l2".to_owned(), config.l2_words.into(), WORD_LANES, 16)];
    for cache in [Cache::FmapShape, Cache::WeightShape] {
        all.push(memory(Kind::Constants(cache), bank(cache).to_owned(), CONSTANT_ENTRIES as u64, 3, 16));
    }
    all.push(memory(Kind::Maximum, "e_max".to_owned(), 1, 1, 16));
    for (&(direction, number), &units) in windows {
        let name = window_name(direction, number);
        all.push(memory(Kind::Window(direction, number), name, units, WORD_LANES, 16));
    }
    for (number, n, k) in products.sizes() {
        all.push(memory(Kind::Weights(number), format!("weights.{number}"), n as u64, k, 4));
        all.push(memory(Kind::Scales(number), format!("scales.{number}"), n as u64, 1, 32));
    }
    all
}
