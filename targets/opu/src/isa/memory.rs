//! Memory as instructions address it: slots in banks.

/// Elements per slot.
pub const SLOT: u32 = 64;

/// Bytes of the whole memory.
pub const MEMORY_BYTES: u64 = 1 << 32;

/// Number of banks.
pub const BANKS: u64 = 16;

/// Bytes per bank.
pub const BANK_BYTES: u64 = MEMORY_BYTES / BANKS;

/// Alignment of a program's start address, in bytes.
pub const PROGRAM_ALIGNMENT: u32 = 64;
