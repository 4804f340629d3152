//! A DRAM bank with its converter and AXI port: [`Bank`].
//!
//! Requests are split at 256 beats and at 4 KiB, words that vectors begin or end within are shared. The splitter remembers two bursts of each direction,
//! and sends the address of a third before it has room for it, so three are under way. Reads wait
//! for the responses of all writes before them.

mod reads;
mod writes;

use super::queue::{Cycle, Pass, Queue};
use super::stall::StallMeter;
use super::watch::Watch;
use crate::config::packing::{Packing, Words};
use crate::config::{ClockParams, Overlap};
use reads::Reads;
use writes::Writes;

/// Bytes a burst must not cross.
const BOUNDARY: u64 = 4096;
/// Bursts of each direction that the released splitter remembers.
const REMEMBERED: usize = 2;

/// Where the vectors of a transfer lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// First vector in DRAM.
    pub(super) address: u64,
    /// Vectors.
    pub(super) size: u64,
    /// Distance of vectors in DRAM, as an exponent of two. Only 0 makes long bursts.
    pub(super) stride_log2: u32,
}

/// When the parts of a transfer that the decoder waits for were taken, and the bus was used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// The bank has the request.
    pub(super) request: Cycle,
    /// Port B has issued its last address.
    pub(super) port_b: Cycle,
    pub(super) first_beat: Cycle,
    pub(super) last_beat: Cycle,
}

#[derive(Clone, Debug)]
pub(super) struct Bank {
    params: ClockParams,
    packing: Packing,
    /// Instructions, while their requests are made.
    instruction: Pass,
    requests: Queue,
    /// When the converter can look at its next burst.
    converter: Cycle,
    reads: Reads,
    writes: Writes,
    pub(super) stalls: StallMeter,
    /// Of its requests.
    watch: Watch,
}

impl Bank {
    /// With the queues that the overlap of its instance gives it.
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

    /// What it keeps from transfer to transfer.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.instruction.times(&mut visit);
        self.requests.times(&mut visit);
        visit(&mut self.converter);
        self.reads.times(&mut visit);
        self.writes.times(visit);
    }

    /// The memory, and how vectors lie in its words: all that its time depends on beside instructions.
    pub(super) const fn shape(&self) -> (ClockParams, Packing) {
        (self.params, self.packing)
    }

    /// Where in a page a vector begins, in bytes.
    pub(super) const fn page_offset(&self, address: u64) -> u64 {
        address.wrapping_mul(self.packing.vector_bytes) % BOUNDARY
    }

    /// The handshake by which requests reach it.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.requests.room())
    }

    /// A request made from `made` on: when it is on its way.
    fn request(&mut self, made: Cycle) -> Cycle {
        let room = self.requests.room();
        let entered = self.requests.enter(made);
        self.watch.saw(made, entered, room);
        entered
    }

    /// The last beat written; 0 when there was none.
    pub(super) const fn last_beat_written(&self) -> Cycle {
        self.writes.beat
    }

    /// When the last address of a write was made; 0 when there was none.
    pub(super) const fn last_write_address(&self) -> Cycle {
        self.writes.addressed
    }

    /// The last response to a write; 0 when there was none.
    pub(super) const fn last_response(&self) -> Cycle {
        self.writes.response
    }

    /// Beats read and written.
    pub(super) const fn beats(&self) -> [u64; 2] {
        [self.reads.beats, self.writes.beats]
    }

    /// Bursts and beats read, bursts and beats written.
    pub(super) const fn traffic(&self) -> [u64; 4] {
        [self.reads.bursts, self.reads.beats, self.writes.bursts, self.writes.beats]
    }

    /// The bursts the converter makes of a span.
    fn bursts(&self, span: Span) -> impl Iterator<Item = Burst> + use<> {
        let strided = span.stride_log2 != 0;
        let longest = if strided { 1 } else { self.packing.longest().max(1) };
        let (size, packing) = (span.size, self.packing);
        (0..size.div_ceil(longest)).map(move |i| {
            let first = i * longest;
            let vectors = longest.min(size - first);
            // Default: a stride of 2^64 vectors or more shifts every bit of the index out.
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

    /// Beats of the part of a burst that starts `done` beats into it.
    fn part(&self, burst: Burst, done: u64) -> u64 {
        let bytes = self.packing.word_bytes;
        let reach = (burst.beats - 1) * bytes;
        // As in the released circuit: a burst whose last beat begins on the boundary is left whole.
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
    /// First byte of the first word.
    address: u64,
    /// Bytes of that word before the first vector.
    skipped: u64,
    vectors: u64,
    beats: u64,
    /// Takes a place in the queue of requests; gives it up.
    opens: bool,
    closes: bool,
}
