//! What the instruction words and buffers hold.

/// Channels of a slot.
pub const LANES: usize = 64;
/// Pixels of the feature and of the partial-sum buffer.
pub const AREA: usize = 2048;
/// Rows, and columns, of a buffer.
pub const SIDE: usize = 127;
/// Offset of a tap in the feature buffer.
pub const TAP: usize = 15;
/// Stride of a convolution or pooling window.
pub const STRIDE: usize = 7;
/// Rows, and columns, of a pooling window.
pub const POOL: usize = 15;
/// Rows, and columns, of a feature map in memory.
pub const MAP: usize = 1023;
/// Zeros around a feature map.
pub const BORDER: usize = 15;
/// Kernel slices of a load.
pub const SLICES: usize = 36;
/// Multipliers, and weights of a word of the kernel buffer.
pub const MULTIPLIERS: usize = 1024;

/// Channels of the feature buffer that hold `channels`.
pub fn lanes(channels: usize) -> usize {
    channels.next_power_of_two().clamp(16, LANES)
}

/// Channels of the partial-sum buffer that hold `channels`: as many as are loaded of them later, so that every
/// channel that is loaded has been stored, and as many as a residual of them has, so that upstream's simulator
/// takes it. Fewer than 16 would save no cycle of a tap.
pub fn filters(channels: usize) -> usize {
    lanes(channels)
}

/// Cycles that a pixel of a tap takes.
pub fn pixel_cycles(lanes: usize, filters: usize) -> usize {
    (lanes * filters).div_ceil(MULTIPLIERS)
}

/// Kernel slices that fit the buffer at once.
pub fn slices(lanes: usize, filters: usize) -> usize {
    SLICES / pixel_cycles(lanes, filters)
}
