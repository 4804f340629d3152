//! Address generators: what configures them, starts them, and the addresses of a cycle.

use crate::agu::{Level, PatternError, Walk, Widths};
use crate::fault::FaultKind;
use crate::state::{Ports, bit, number};

/// An address beyond the memory, which was wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub number: usize,
    pub address: i64,
}

impl Ports {
    /// Finds the addresses of `cycle`; gives one that had to be wrapped, once
    /// for each port.
    #[inline]
    pub(crate) fn emit(&mut self, cycle: u64) -> Option<Wrapped> {
        let (mut left, mut emitted, mut over) = (self.active, 0, 0);
        let mut wrapped = None;
        while left != 0 {
            let number = left.trailing_zeros() as usize & 63;
            left &= left - 1;
            let walk = &mut self.walks[number];
            let Some(address) = walk.take(cycle) else { continue };
            emitted |= 1 << number;
            over |= u64::from(walk.is_over()) << number;
            let size = self.sizes[number];
            self.addresses[number] = if (0..i64::from(size)).contains(&address) {
                address as u32
            } else {
                if wrapped.is_none() && self.wrapped >> number & 1 == 0 {
                    self.wrapped |= 1 << number;
                    wrapped = Some(Wrapped { number, address });
                }
                address.rem_euclid(size.into()) as u32
            };
        }
        self.emitted = emitted;
        self.active &= !over;
        wrapped
    }

    /// The cycle of the next address of any port; `u64::MAX` when there is none.
    pub(crate) fn next_cycle(&self) -> u64 {
        let mut left = self.active;
        let mut next = u64::MAX;
        while left != 0 {
            next = next.min(self.walks[left.trailing_zeros() as usize & 63].next_cycle());
            left &= left - 1;
        }
        next
    }

    /// Starts the ports of `raised`: their first address is in the cycle after `cycle`. Ports that run go on; what
    /// does not exist is not there. Gives what hardware may not take yet.
    ///
    /// Errors: lanes that are not connected.
    pub(crate) fn activate(&mut self, cycle: u64, raised: u64) -> Result<Option<FaultKind>, FaultKind> {
        let mut left = raised & self.exist & !self.active;
        let mut early = None;
        while left != 0 {
            let number = left.trailing_zeros() as usize & 63;
            left &= left - 1;
            let (slot, port) = (number as u8 / 4, number as u8 % 4);
            let pattern = std::mem::take(&mut self.patterns[number]);
            pattern.check().map_err(|reason| FaultKind::Pattern { slot, port, reason })?;
            early = early.or(self.early(cycle, slot, port, "activated"));
            let start = cycle.saturating_add(1);
            self.walks[number] = Walk::new(&pattern, start);
            self.ended[number] = start.saturating_add(pattern.span());
            self.active |= 1 << number;
        }
        Ok(early)
    }

    /// Whether a port may be configured. Gives what hardware may not take yet. Errors: it runs.
    fn configurable(&self, cycle: u64, slot: u8, port: u8) -> Result<Option<FaultKind>, FaultKind> {
        let ended = self.ended[number(slot, port)];
        if cycle < ended {
            return Err(FaultKind::Busy { slot, port, until: ended - 1 });
        }
        Ok(self.early(cycle, slot, port, "configured"))
    }

    /// Hardware erases a configuration one or two cycles after the last address.
    fn early(&self, cycle: u64, slot: u8, port: u8, what: &'static str) -> Option<FaultKind> {
        let ended = self.ended[number(slot, port)];
        let erased = if self.iosram & bit(slot, port) != 0 { ended } else { ended + 1 };
        let from = if what == "activated" { erased + 1 } else { erased };
        (ended != 0 && cycle < from).then(|| FaultKind::Early { slot, port, what, last: ended - 1, from })
    }

    /// Applies a change to a port's configuration.
    fn change(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        change: impl FnOnce(&mut crate::agu::Pattern) -> Result<(), PatternError>,
    ) -> Result<Option<FaultKind>, FaultKind> {
        let early = self.configurable(cycle, slot, port)?;
        let changed = change(&mut self.patterns[number(slot, port)]);
        changed.map_err(|reason| FaultKind::Pattern { slot, port, reason })?;
        Ok(early)
    }

    /// `dsu` and `evt`.
    pub(crate) fn open(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        base: u16,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, slot, port, |pattern| pattern.open(base.into()))
    }

    /// `rep`.
    pub(crate) fn rep(
        &mut self,
        cycle: u64,
        (slot, port): (u8, u8),
        level: Level,
        widths: Widths,
        spill: bool,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, slot, port, |pattern| pattern.rep(level, widths, spill))
    }

    /// `repx`.
    pub(crate) fn repx(
        &mut self,
        cycle: u64,
        (slot, port): (u8, u8),
        (iter, step, delay): (u8, u8, u8),
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, slot, port, |pattern| pattern.repx(iter.into(), step.into(), delay.into()))
    }

    /// `trans`.
    pub(crate) fn trans(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        delay: u32,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, slot, port, |pattern| pattern.trans(delay))
    }

    /// Forgets all addresses and times, as between calls.
    pub(crate) fn rest(&mut self) {
        self.active = 0;
        self.emitted = 0;
        self.wrapped = 0;
        self.ended.fill(0);
    }
}
