//! Injected faults: [`Faults`] decides which events of a board fail.

/// An event that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bus refuses a read of a register.
    ReadRegister,
    /// The bus refuses a write of a register.
    WriteRegister,
    /// The bus refuses a read of memory.
    ReadMemory,
    /// The bus refuses a write of memory.
    WriteMemory,
    /// The connection ends before an answer.
    Disconnect,
    /// A transfer of a DMA engine ends with an internal error.
    DmaInternal,
    /// A transfer of a DMA engine ends with a slave error.
    DmaSlave,
    /// A transfer of a DMA engine ends with a decode error.
    DmaDecode,
    /// A transfer, or the accelerator itself, never ends.
    Stall,
    /// The accelerator accepts neither an instruction nor later ones.
    Hang,
    /// Writes of the accelerator to memory are lost, starting with this one.
    LoseWrites,
    /// A sample has invalid bits.
    DamagedSample,
    /// The accelerator reports an error.
    Report,
}

/// Faults by their names in requests.
const NAMES: [(&str, Fault); 13] = [
    ("read-register", Fault::ReadRegister),
    ("write-register", Fault::WriteRegister),
    ("read-memory", Fault::ReadMemory),
    ("write-memory", Fault::WriteMemory),
    ("disconnect", Fault::Disconnect),
    ("dma-internal", Fault::DmaInternal),
    ("dma-slave", Fault::DmaSlave),
    ("dma-decode", Fault::DmaDecode),
    ("stall", Fault::Stall),
    ("hang", Fault::Hang),
    ("lose-writes", Fault::LoseWrites),
    ("damaged-sample", Fault::DamagedSample),
    ("report", Fault::Report),
];

/// Scheduled faults.
#[derive(Debug, Default)]
pub struct Faults {
    waiting: Vec<(Fault, u64)>,
}

impl Faults {
    /// Makes the `after`-th next event fail; `None` if the name is unknown.
    pub fn inject(&mut self, name: &[u8], after: u64) -> Option<()> {
        let (_, fault) = NAMES.iter().find(|(known, _)| known.as_bytes() == name)?;
        self.waiting.push((*fault, after));
        Some(())
    }

    /// Whether this event fails. Must be called once per event.
    pub fn is_due(&mut self, event: Fault) -> bool {
        let mut due = false;
        self.waiting.retain_mut(|(fault, left)| {
            if *fault != event {
                return true;
            }
            *left = left.saturating_sub(1);
            due |= *left == 0;
            *left > 0
        });
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_event_goes_wrong_once() {
        let mut faults = Faults::default();
        assert_eq!(faults.inject(b"hang", 2), Some(()));
        assert_eq!(faults.inject(b"no such", 1), None);
        assert!(!faults.is_due(Fault::Stall));
        assert_eq!([(); 4].map(|()| faults.is_due(Fault::Hang)), [false, true, false, false]);
    }
}
