//! External memory, which all ports share: [`ExternalMemory`]. Source: specification 6.4, the limit
//! of 48 bytes per cycle.

/// Bandwidth of external memory that is still free at each time. Earlier instructions have
/// priority.
#[derive(Clone, Debug)]
pub(super) struct ExternalMemory {
    bytes_per_cycle: f64,
    taken: Vec<Taken>,
}

/// Bandwidth used between two cycles.
#[derive(Clone, Copy, Debug)]
struct Taken {
    start: u64,
    end: u64,
    bytes_per_cycle: f64,
}

impl ExternalMemory {
    pub const fn new(bytes_per_cycle: f64) -> Self {
        Self { bytes_per_cycle, taken: Vec::new() }
    }

    /// Discards transfers that end by `cycle`; later transfers must not start before it.
    pub fn forget(&mut self, cycle: u64) {
        self.taken.retain(|taken| taken.end > cycle);
    }

    /// Adds a transfer of bytes that takes `cycles` cycles when alone; returns its additional
    /// cycles.
    pub fn delay(&mut self, start: u64, cycles: u64, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let wanted = bytes as f64 / cycles.max(1) as f64;
        let (mut now, mut left) = (start, cycles as f64);
        while left > 0.0 {
            let (free, until) = self.free(now);
            // The share of the transfer's own rate that is available.
            let share = (free / wanted).clamp(0.0, 1.0);
            let end = until.min(now.saturating_add((left / share).ceil() as u64));
            self.taken.push(Taken { start: now, end, bytes_per_cycle: share * wanted });
            left -= (end - now) as f64 * share;
            now = end;
        }
        now.saturating_sub(start + cycles)
    }

    /// Returns the free bandwidth in a cycle, and the cycle until which it lasts.
    fn free(&self, cycle: u64) -> (f64, u64) {
        let (mut free, mut until) = (self.bytes_per_cycle, u64::MAX);
        for taken in self.taken.iter().filter(|taken| taken.end > cycle) {
            if taken.start > cycle {
                until = until.min(taken.start);
            } else {
                free -= taken.bytes_per_cycle;
                until = until.min(taken.end);
            }
        }
        (free, until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_share_what_there_is() {
        let mut memory = ExternalMemory::new(48.0);
        // Two pairs of ports and the coherent port need 50 bytes per cycle.
        assert_eq!(memory.delay(0, 1000, 20_000), 0);
        assert_eq!(memory.delay(0, 1000, 20_000), 0);
        // The transfer moves 8 bytes per cycle for 1000 cycles, and then 2000 bytes at 10 per
        // cycle.
        assert_eq!(memory.delay(0, 1000, 10_000), 200);
        // 48 bytes per cycle wait for all of them; earlier transfers are served first.
        assert_eq!(memory.delay(1100, 10, 480), 10 * 10 / 38 + 1);
        assert_eq!(memory.delay(5000, 10, 480), 0);
        assert_eq!(memory.delay(4990, 20, 960), 10);
    }

    #[test]
    fn nothing_takes_nothing() {
        let mut memory = ExternalMemory::new(1.0);
        assert_eq!((memory.delay(7, 0, 0), memory.delay(7, 9, 0)), (0, 0));
        assert_eq!(memory.delay(0, 10, 10), 0);
        memory.forget(10);
        assert_eq!(memory.delay(0, 10, 10), 0);
    }
}
