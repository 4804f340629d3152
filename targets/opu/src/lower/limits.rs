//! Limits of the instruction words and buffers.

/// Channels per slot.
pub const LANES: usize = 64;
/// Pixels of the feature buffer and of the partial-sum buffer.
pub const AREA: usize = 2048;
/// Maximum rows, and columns, of a buffer.
pub const SIDE: usize = 127;
/// Maximum offset of a tap in the feature buffer.
pub const TAP: usize = 15;
/// Maximum stride of a convolution or pooling window.
pub const STRIDE: usize = 7;
/// Maximum rows, and columns, of a pooling window.
pub const POOL: usize = 15;
/// Maximum rows, and columns, of a feature map in memory.
pub const MAP: usize = 1023;
/// Maximum width of the zeros around a feature map.
pub const BORDER: usize = 15;
/// Maximum kernel slices per load.
pub const SLICES: usize = 36;
/// Number of multipliers, and of weights per word of the kernel buffer.
pub const MULTIPLIERS: usize = 1024;

/// Returns the channels of the feature buffer to allocate for `channels` channels.
pub fn lanes(channels: usize) -> usize {
    channels.next_power_of_two().clamp(16, LANES)
}

/// Returns the channels of the partial-sum buffer to allocate for `channels` channels. They equal
/// the channels that are loaded later, so that every loaded channel has been stored, and the
/// channels of a residual, so that upstream's simulator accepts it. Fewer than 16 would save no
/// cycle of a tap.
pub fn filters(channels: usize) -> usize {
    lanes(channels)
}

/// Returns the cycles per pixel of a tap.
pub fn pixel_cycles(lanes: usize, filters: usize) -> usize {
    (lanes * filters).div_ceil(MULTIPLIERS)
}

/// Returns the number of kernel slices that fit the buffer at once.
pub fn slices(lanes: usize, filters: usize) -> usize {
    SLICES / pixel_cycles(lanes, filters)
}
