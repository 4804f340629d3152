//! Faults on purpose: [`Faults`], which events of a board go wrong.

/// An event that can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read of a register is refused by the bus.
    ReadRegister,
    /// A write of a register is refused.
    WriteRegister,
    /// A read of memory is refused.
    ReadMemory,
    /// A write of memory is refused.
    WriteMemory,
    /// The connection ends before an answer.
    Disconnect,
    /// A transfer of a DMA engine ends with an internal error.
    DmaInternal,
    /// The same, with a slave error.
    DmaSlave,
    /// The same, with a decode error.
    DmaDecode,
    /// A transfer never ends; of the accelerator's own start, it never does.
    Stall,
    /// The accelerator does not take an instruction, nor any after it.
    Hang,
    /// What the accelerator writes to memory does not arrive, from that write on.
    LoseWrites,
    /// A sample has bits that none has.
    DamagedSample,
    /// The accelerator reports an error.
    Report,
}

/// Every fault by its name in requests.
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

/// What is to go wrong, and when.
#[derive(Debug, Default)]
pub struct Faults {
    waiting: Vec<(Fault, u64)>,
}

impl Faults {
    /// Makes the `after`-th event from now on go wrong; none for a name that there is not.
    pub fn inject(&mut self, name: &[u8], after: u64) -> Option<()> {
        let (_, fault) = NAMES.iter().find(|(known, _)| known.as_bytes() == name)?;
        self.waiting.push((*fault, after));
        Some(())
    }

    /// Whether this event goes wrong. Call it once for each.
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
