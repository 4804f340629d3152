//! What the clock takes of a board's memory: [`ClockParams`].

/// What the clock needs to know of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClockParams {
    /// Cycles from the address of a burst to its first beat.
    pub read_latency: u64,
    /// Cycles from the last beat of a burst to the response.
    pub write_response_latency: u64,
    /// Width of the data bus of each bank, in bits.
    pub axi_bits: u32,
    /// Whether bursts stay whole whose last beat begins on a boundary of 4 KiB, as in the released circuit: AXI forbids
    /// it, and our circuit splits them.
    pub crosses_by_a_beat: bool,
}

impl ClockParams {
    /// Equal latencies, in cycles, and a bus of 128 bits, with the bursts of the released circuit.
    pub const fn with_latency(latency: u64) -> Self {
        let (read_latency, write_response_latency) = (latency, latency);
        Self { read_latency, write_response_latency, axi_bits: 128, crosses_by_a_beat: true }
    }

    /// The same memory behind the released circuit.
    pub(crate) const fn as_released(self) -> Self {
        Self { crosses_by_a_beat: true, ..self }
    }
}

/// Why there is no clock for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The bus carries no whole number of bytes.
    #[error("a bus of {axi_bits} bits: must be 8 bits times a power of two, at most 1024")]
    Bus {
        /// Its width.
        axi_bits: u32,
    },
    /// Vectors are too long for a burst.
    #[error(
        "a vector of {vector_bits} bits on a bus of {axi_bits} bits: a burst has 256 words, take a wider bus"
    )]
    Beats {
        /// Bits of a vector in DRAM.
        vector_bits: u64,
        /// Width of the bus.
        axi_bits: u32,
    },
}
