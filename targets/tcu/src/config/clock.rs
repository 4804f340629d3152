//! [`ClockParams`]: timing parameters of a board's memory.

/// Timing parameters of the memory for the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockParams {
    /// Cycles from the address of a burst to its first beat.
    pub read_latency: u64,
    /// Cycles from the last beat of a burst to the response.
    pub write_response_latency: u64,
    /// Width of the data bus of each bank, in bits.
    pub axi_bits: u32,
    /// Whether a burst may have its last beat begin on a 4 KiB boundary, as in the released
    /// circuit. AXI forbids this, and npukit's circuit splits such bursts.
    pub crosses_by_a_beat: bool,
}

impl ClockParams {
    /// Creates a memory with equal latencies in cycles, a 128-bit bus, and the bursts of the
    /// released circuit.
    pub const fn with_latency(latency: u64) -> Self {
        let (read_latency, write_response_latency) = (latency, latency);
        Self { read_latency, write_response_latency, axi_bits: 128, crosses_by_a_beat: true }
    }

    /// Returns the memory with the bursts of the released circuit.
    pub(crate) const fn as_released(self) -> Self {
        Self { crosses_by_a_beat: true, ..self }
    }
}

/// Why an instance has no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The bus width is not 8 bits times a power of two.
    #[error("the bus has {axi_bits} bits: the width must be 8 bits times a power of two, at most 1024")]
    Bus {
        /// Width of the bus in bits.
        axi_bits: u32,
    },
    /// A vector is too long for a burst.
    #[error(
        "a vector of {vector_bits} bits needs more than one burst of 256 words on a bus of {axi_bits} bits: use a wider bus"
    )]
    Beats {
        /// Bits of a vector in DRAM.
        vector_bits: u64,
        /// Width of the bus in bits.
        axi_bits: u32,
    },
}
