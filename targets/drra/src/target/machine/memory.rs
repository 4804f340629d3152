//! Access by address to the memories of a fabric that have names in texts.

use npukit_target::{MachineMemory, TargetError};

use crate::machine::{Machine, Memory, MemoryKind};

/// Returns the description of a memory.
pub fn memory(memory: &Memory) -> MachineMemory {
    MachineMemory {
        name: memory.kind.to_string(),
        depth: memory.depth as u64,
        lanes: memory.lanes,
        bits: if is_flag(memory) { 1 } else { i16::BITS },
        is_signed: !is_flag(memory),
    }
}

/// Writes words to a memory, starting at `address`. Errors: a row outside a buffer.
pub fn write(
    machine: &mut Machine,
    &Memory { kind, lanes, .. }: &Memory,
    address: u64,
    numbers: &[i64],
) -> Result<(), TargetError> {
    let words: Vec<i16> = numbers.iter().map(|&number| number as i16).collect();
    for (address, words) in (address as usize..).zip(words.chunks(lanes)) {
        machine.poke(kind, address, words).map_err(TargetError::failed)?;
    }
    Ok(())
}

/// Returns the words at `count` existing addresses of a memory, starting at `address`.
pub fn read(machine: &Machine, kind: MemoryKind, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
    let mut all = Vec::new();
    for address in address..address + count {
        let words = machine.peek(kind, address as usize).map_err(TargetError::failed)?;
        all.extend(words.into_iter().map(i64::from));
    }
    Ok(all)
}

const fn is_flag(memory: &Memory) -> bool {
    matches!(memory.kind, MemoryKind::Flags { .. })
}
