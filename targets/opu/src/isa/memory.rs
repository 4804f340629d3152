//! The memory as instructions see it: slots in banks.

/// Elements of a slot.
pub const SLOT: u32 = 64;

/// Bytes of the memory.
pub const MEMORY_BYTES: u64 = 1 << 32;

/// Banks of memory.
pub const BANKS: u64 = 16;

/// Bytes of a bank.
pub const BANK_BYTES: u64 = MEMORY_BYTES / BANKS;

/// What the address of a program is a multiple of.
pub const PROGRAM_ALIGNMENT: u32 = 64;
