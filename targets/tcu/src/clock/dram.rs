//! A DRAM bank with its converter and AXI port: [`Bank`].
//!
//! Requests are split at 256 beats and at 4 KiB. A word is transferred once even if a vector ends
//! and another begins inside it. The splitter tracks two bursts per direction and sends the address
//! of a third before it has room for it, so three can be in flight. Reads wait for the responses of
//! all earlier writes.

mod reads;
mod writes;

use super::queue::{Cycle, Pass, Queue};
use super::stall::StallMeter;
use super::watch::Watch;
use crate::config::packing::{Packing, Words};
use crate::config::{ClockParams, Overlap};
use reads::Reads;
use writes::Writes;

/// Address boundary in bytes that a burst must not cross.
const BOUNDARY: u64 = 4096;
/// Number of bursts per direction that the released splitter tracks.
const REMEMBERED: usize = 2;

/// Addresses of a transfer's vectors in DRAM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Address of the first vector in DRAM.
    pub(super) address: u64,
    /// Number of vectors.
    pub(super) size: u64,
    /// Base-2 logarithm of the distance between vectors in DRAM. Only 0 gives long bursts.
    pub(super) stride_log2: u32,
}

/// Cycles at which the parts of a transfer were accepted and the bus was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// The bank accepted the request.
    pub(super) request: Cycle,
    /// Port B issued its last address.
    pub(super) port_b: Cycle,
    pub(super) first_beat: Cycle,
    pub(super) last_beat: Cycle,
}

#[derive(Clone, Debug)]
pub(super) struct Bank {
    params: ClockParams,
    packing: Packing,
    /// Queue of instructions for which requests are being created.
    instruction: Pass,
    requests: Queue,
    /// Cycle at which the converter can accept its next burst.
    converter: Cycle,
    reads: Reads,
    writes: Writes,
    pub(super) stalls: StallMeter,
    /// Observed handshakes of requests.
    watch: Watch,
}

impl Bank {
    /// Creates a bank with the queues that the instance's `overlap` specifies.
    pub(super) fn new(params: ClockParams, packing: Packing, overlap: Overlap) -> Self {
        let remembered = if overlap.outstanding_bursts > 0 { overlap.outstanding_bursts } else { REMEMBERED };
        Self {
            params,
            packing,
            instruction: Pass::new(overlap.shared_depth().max(1)),
            requests: Queue::default(),
            converter: 0,
            reads: Reads::new(remembered),
            writes: Writes::new(remembered),
            stalls: StallMeter::default(),
            watch: Watch::default(),
        }
    }

    /// Visits the times that change from transfer to transfer.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.instruction.times(&mut visit);
        self.requests.times(&mut visit);
        visit(&mut self.converter);
        self.reads.times(&mut visit);
        self.writes.times(visit);
    }

    /// Returns the memory timing and the packing of vectors in words. Apart from instructions, only
    /// these determine the bank's timing.
    pub(super) const fn shape(&self) -> (ClockParams, Packing) {
        (self.params, self.packing)
    }

    /// Returns the offset of a vector within its 4 KiB page, in bytes.
    pub(super) const fn page_offset(&self, address: u64) -> u64 {
        address.wrapping_mul(self.packing.vector_bytes) % BOUNDARY
    }

    /// Returns the handshakes of requests, and the cycle at which there is room for the next one.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.requests.room())
    }

    /// Queues a request made at `made`; returns when it enters the queue.
    fn request(&mut self, made: Cycle) -> Cycle {
        let room = self.requests.room();
        let entered = self.requests.enter(made);
        self.watch.saw(made, entered, room);
        entered
    }

    /// Returns the cycle of the last beat written; 0 if there was none.
    pub(super) const fn last_beat_written(&self) -> Cycle {
        self.writes.beat
    }

    /// Returns when the last write address was issued; 0 if there was none.
    pub(super) const fn last_write_address(&self) -> Cycle {
        self.writes.addressed
    }

    /// Returns the cycle of the last write response; 0 if there was none.
    pub(super) const fn last_response(&self) -> Cycle {
        self.writes.response
    }

    /// Returns the number of beats read and written.
    pub(super) const fn beats(&self) -> [u64; 2] {
        [self.reads.beats, self.writes.beats]
    }

    /// Returns the number of bursts and beats read, then of bursts and beats written.
    pub(super) const fn traffic(&self) -> [u64; 4] {
        [self.reads.bursts, self.reads.beats, self.writes.bursts, self.writes.beats]
    }

    /// Returns the bursts into which the converter splits a span.
    fn bursts(&self, span: Span) -> impl Iterator<Item = Burst> + use<> {
        let strided = span.stride_log2 != 0;
        let longest = if strided { 1 } else { self.packing.longest().max(1) };
        let (size, packing) = (span.size, self.packing);
        (0..size.div_ceil(longest)).map(move |i| {
            let first = i * longest;
            let vectors = longest.min(size - first);
            // Default: a stride of 2^64 vectors or more shifts all bits of the index out.
            let offset = first.checked_shl(span.stride_log2).unwrap_or(0);
            let Words { address, skipped, count: beats } =
                packing.words(span.address.wrapping_add(offset), vectors);
            Burst {
                address,
                skipped,
                vectors,
                beats,
                opens: strided || i == 0,
                closes: strided || first + vectors == size,
            }
        })
    }

    /// Returns the number of beats in the part of a burst that starts after `done` beats.
    fn part(&self, burst: Burst, done: u64) -> u64 {
        let bytes = self.packing.word_bytes;
        let reach = (burst.beats - 1) * bytes;
        // The released circuit does not split a burst if only the burst's last beat begins on the
        // boundary.
        let whole = self.params.crosses_by_a_beat
            && reach <= BOUNDARY
            && burst.address % BOUNDARY + reach <= BOUNDARY + 1;
        if whole {
            return burst.beats;
        }
        let at = burst.address.wrapping_add(done * bytes) % BOUNDARY;
        ((BOUNDARY - at) / bytes).max(1).min(burst.beats - done)
    }
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Address of the first word, in bytes.
    address: u64,
    /// Bytes of the first word before the first vector.
    skipped: u64,
    vectors: u64,
    beats: u64,
    /// Whether the burst takes a place in the request queue; `closes`: whether it frees the place.
    opens: bool,
    closes: bool,
}
