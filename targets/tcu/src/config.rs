//! Architecture parameters (`.tarch`), and everything derived from them.
//!
//! [`Config`] is the instance; [`Board`] is the instance with clock, bus and memory. Reading,
//! writing and checks are in [`tarch`], the embedded boards in `presets`, and the widths of an
//! instruction in [`Layout`].

pub(crate) mod area;
pub(crate) mod board;
mod clock;
pub(crate) mod json_fields;
mod layout;
mod overlapping;
pub(crate) mod packing;
mod presets;
pub mod settable;
mod system;
pub mod tarch;

use npukit_numeric::{FixedFormat, NumberFormat};

pub use clock::{ClockError, ClockParams};
pub use layout::Layout;
pub use overlapping::Overlap;
pub use system::{Board, System};
pub use tarch::{ConfigError, ConfigErrors, ConfigWarning};

/// Number format of all memories and units of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// Fixed point with 8 bits, 4 of them fraction.
    Fp8Bp4,
    /// Fixed point with 16 bits, 8 of them fraction.
    Fp16Bp8,
    /// Fixed point with 18 bits, 10 of them fraction; 4 bytes in files and DRAM.
    Fp18Bp10,
    /// Fixed point with 32 bits, 16 of them fraction.
    Fp32Bp16,
    /// IEEE single precision; big-endian in `.tdata`.
    Float32,
}

impl DataType {
    /// Every number format, narrowest first.
    pub const ALL: [Self; 5] = [Self::Fp8Bp4, Self::Fp16Bp8, Self::Fp18Bp10, Self::Fp32Bp16, Self::Float32];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp8Bp4 => "FP8BP4",
            Self::Fp16Bp8 => "FP16BP8",
            Self::Fp18Bp10 => "FP18BP10",
            Self::Fp32Bp16 => "FP32BP16",
            Self::Float32 => "FLOAT32",
        }
    }

    /// Returns the format with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.name() == name)
    }

    /// Returns the arithmetic format.
    pub const fn format(self) -> NumberFormat {
        let (width, binary_point) = match self {
            Self::Fp8Bp4 => (8, 4),
            Self::Fp16Bp8 => (16, 8),
            Self::Fp18Bp10 => (18, 10),
            Self::Fp32Bp16 => (32, 16),
            Self::Float32 => return NumberFormat::Float32,
        };
        NumberFormat::Fixed(FixedFormat { width, binary_point })
    }

    /// Returns the bytes of a scalar in files and DRAM.
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Fp8Bp4 => 1,
            Self::Fp16Bp8 => 2,
            Self::Fp18Bp10 | Self::Fp32Bp16 | Self::Float32 => 4,
        }
    }
}

/// Behavior of an instance where released hardware and instruction set specification differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reading {
    /// The behavior of the released hardware.
    #[default]
    Released,
    /// The instruction set specification.
    Seed,
}

impl Reading {
    /// Both readings.
    pub const ALL: [Self; 2] = [Self::Released, Self::Seed];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Seed => "seed",
        }
    }
}

/// An instance of the accelerator: the parameters of a `.tarch` file.
///
/// Depths are in vectors of `array_size` scalars.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Number format of all memories and units.
    pub data_type: DataType,
    /// Array size N: the array is N by N, a vector has N scalars.
    pub array_size: usize,
    /// Depth of DRAM0 in vectors.
    pub dram0_depth: u64,
    /// Depth of DRAM1 in vectors.
    pub dram1_depth: u64,
    /// Depth of local memory in vectors.
    pub local_depth: u64,
    /// Depth of the accumulators in vectors.
    pub accumulator_depth: u64,
    /// Registers per ALU lane.
    pub simd_registers_depth: usize,
    /// Number of legal stride codes of operand 0.
    pub stride0_depth: usize,
    /// Number of legal stride codes of operand 1.
    pub stride1_depth: usize,
    /// Number of threads: 1, or 2 in compiler and emulator only.
    pub number_of_threads: usize,
    /// Depth of the thread queues, which only the estimator uses.
    pub thread_queue_depth: usize,
    /// Number of lookup tables; 0 disables the extension with LoadLUT and Lookup.
    pub lookup_tables: usize,
    /// Vectors that a LoadLUT loads in the specification's reading, where the instruction has no
    /// size; 0 means 1.
    pub lookup_depth: u64,
    /// Words of a block of performance samples; 0 means 1.
    pub sample_block_size: u32,
    /// Behavior where released hardware and specification differ.
    pub reading: Reading,
    /// Limits of the released unit that this instance does not have.
    pub overlap: Overlap,
    /// Whether rows and weights pass a register between local memory and the array, for a faster
    /// clock. A result then takes one more cycle.
    pub registered_rows: bool,
}
