//! The memories of a bench and their names: [`memories`]. Windows are as large as the program's MEMCPYs reach.

use std::collections::BTreeMap;

use npukit_target::BenchMemory;

use super::bank;
use super::product::Products;
use crate::config::{CONSTANT_ENTRIES, Config, WINDOW_UNITS, WORD_LANES};
use crate::fault::Direction;
use crate::op::{Banks, Cache, Device, Memcpy, Op};
use crate::state::{upstream_words, words_of};

/// What a memory is.
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
    /// `weights.I`: rows of 4-bit weights of product number I.
    Weights(usize),
    /// `scales.I`: their `f32` factors.
    Scales(usize),
}

/// Units of each window that a program names, as far as its MEMCPYs reach.
pub type Windows = BTreeMap<(Direction, u32), u64>;

/// The windows of a program.
pub fn windows(config: &Config, ops: &[Op]) -> Windows {
    let (mut banks, mut windows) = (Banks::default(), Windows::new());
    for op in ops {
        banks.step(op);
        let Op::Memcpy(memcpy) = op else { continue };
        let Some(window) = window(memcpy) else { continue };
        let shape = banks.fmap(memcpy.shape_ptr_addr);
        let words = match config.strict {
            // Default: more values than there are addresses are more than a window has.
            true => words_of(usize::try_from(shape.product()).unwrap_or(usize::MAX)),
            false => upstream_words(shape),
        };
        let end = u64::from(memcpy.aux_addr).saturating_add(words).min(WINDOW_UNITS.into());
        let units = windows.entry(window).or_default();
        *units = end.max(*units);
    }
    windows
}

/// The window that a MEMCPY uses.
const fn window(memcpy: &Memcpy) -> Option<(Direction, u32)> {
    match (memcpy.from_device, memcpy.to_device) {
        (Device::Host, Device::Npu) => Some((Direction::HostToL2, memcpy.src_addr)),
        (Device::Npu, Device::Host) => Some((Direction::L2ToHost, memcpy.dest_addr)),
        (Device::Npu, Device::Npu) | (Device::Host, Device::Host) => None,
    }
}

/// The name of a window.
pub fn window_name(direction: Direction, number: u32) -> String {
    let side = match direction {
        Direction::HostToL2 => "host_to_l2",
        Direction::L2ToHost => "l2_to_host",
    };
    format!("{side}.{number}")
}

/// All memories, L2 first.
pub fn memories(config: &Config, windows: &Windows, products: &Products) -> Vec<(Kind, BenchMemory)> {
    let memory = |kind, name: String, depth: u64, lanes, bits| {
        let is_signed = matches!(kind, Kind::Weights(_));
        (kind, BenchMemory { name, depth, lanes, bits, is_signed })
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
