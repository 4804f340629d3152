//! A DRAM bank behind its converter and AXI port: [`Bank`].
//!
//! Requests are split at 256 beats and at 4 KiB. The splitter remembers two bursts of each direction,
//! and sends the address of a third before it has room for it, so three are under way. Reads wait
//! for the responses of all writes before them.

use super::ClockParams;
use super::queue::{Cycle, Pair, Queue, ReadPort, Slot};

/// Bytes a burst must not cross.
const BOUNDARY: u64 = 4096;
/// Beats of the longest burst.
const LONGEST: u64 = 256;

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

/// Local memory's port B and the router between it and both banks.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// The instruction that routes data.
    control: Slot,
    /// The last vector routed.
    routed: Cycle,
    port_b: ReadPort,
    /// The last write.
    pub(super) written: Cycle,
    /// Vectors moved.
    pub(super) vectors: u64,
}

impl Host {
    /// A transfer offered from `head` on: when its routing is taken.
    pub(super) fn begin(&mut self, head: Cycle) -> Cycle {
        self.control.enter(head)
    }

    /// The last vector of a transfer is through.
    pub(super) const fn end(&mut self) {
        self.control.leave(self.routed);
    }

    /// A vector that is there from `offered` on is written.
    fn write(&mut self, offered: Cycle) -> Cycle {
        let at = offered.max(self.routed + 1).max(self.port_b.free());
        self.port_b.write(at);
        self.routed = at;
        self.written = at;
        self.vectors += 1;
        at
    }
}

/// When the parts of a transfer that the decoder waits for were taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// The bank has the request.
    pub(super) request: Cycle,
    /// Port B has issued its last address.
    pub(super) port_b: Cycle,
}

#[derive(Clone, Debug)]
pub(super) struct Bank {
    params: ClockParams,
    beats_per_vector: u64,
    bytes_per_beat: u64,
    /// The instruction, while its requests are made.
    instruction: Slot,
    requests: Queue,
    /// When the converter can look at its next burst.
    converter: Cycle,
    reads: Reads,
    writes: Writes,
}

#[derive(Clone, Debug, Default)]
struct Reads {
    addresses: Queue,
    splitter: Cycle,
    bookkeeping: Pair,
    /// The last beat on the bus.
    beat: Cycle,
    /// Beats behind the port, then before the converter.
    data: Queue,
    words: Queue,
    /// The last word of a vector put together, and when that vector was written.
    word: Cycle,
    vector: Cycle,
    beats: u64,
    bursts: u64,
}

#[derive(Clone, Debug, Default)]
struct Writes {
    vectors: Queue,
    addresses: Queue,
    splitter: Cycle,
    data_bookkeeping: Pair,
    response_bookkeeping: Pair,
    /// The last word the converter took from a vector.
    word: Cycle,
    data: Queue,
    /// The last beat on the bus, and the last response.
    beat: Cycle,
    response: Cycle,
    beats: u64,
    bursts: u64,
}

impl Bank {
    pub(super) fn new(params: ClockParams, beats_per_vector: u64) -> Self {
        Self {
            params,
            beats_per_vector,
            bytes_per_beat: u64::from(params.axi_bits / 8),
            instruction: Slot::default(),
            requests: Queue::default(),
            converter: 0,
            reads: Reads::default(),
            writes: Writes::default(),
        }
    }

    /// The last beat written; 0 when there was none.
    pub(super) const fn last_beat_written(&self) -> Cycle {
        self.writes.beat
    }

    /// The last response to a write; 0 when there was none.
    pub(super) const fn last_response(&self) -> Cycle {
        self.writes.response
    }

    /// Bursts and beats read, bursts and beats written.
    pub(super) const fn traffic(&self) -> [u64; 4] {
        [self.reads.bursts, self.reads.beats, self.writes.bursts, self.writes.beats]
    }

    /// The requests of a span: each is one burst of the converter, given as first vector, vectors,
    /// and whether it is the first and the last of its entry in the queue of requests.
    fn bursts(&self, span: Span) -> impl Iterator<Item = Burst> + use<> {
        let strided = span.stride_log2 != 0;
        let longest = if strided { 1 } else { (LONGEST / self.beats_per_vector).max(1) };
        let (size, beats) = (span.size, self.beats_per_vector);
        let bytes = beats * self.bytes_per_beat;
        (0..size.div_ceil(longest)).map(move |i| {
            let first = i * longest;
            let vectors = longest.min(size - first);
            let offset = first.checked_shl(span.stride_log2).unwrap_or_default();
            Burst {
                address: span.address.wrapping_add(offset).wrapping_mul(bytes),
                vectors,
                beats: vectors * beats,
                opens: strided || i == 0,
                closes: strided || first + vectors == size,
            }
        })
    }

    /// Beats of the part of a burst that starts `done` beats into it.
    fn part(&self, burst: Burst, done: u64) -> u64 {
        let reach = (burst.beats - 1) * self.bytes_per_beat;
        // As in hardware: a burst whose last beat begins on the boundary is left whole.
        let whole = reach <= BOUNDARY && burst.address % BOUNDARY + reach <= BOUNDARY + 1;
        if whole {
            return burst.beats;
        }
        let at = burst.address.wrapping_add(done * self.bytes_per_beat) % BOUNDARY;
        ((BOUNDARY - at) / self.bytes_per_beat).max(1).min(burst.beats - done)
    }

    /// From DRAM to local memory; `head` is when the decoder offers it, `routed` when the host
    /// router has taken it.
    pub(super) fn read(&mut self, head: Cycle, routed: Cycle, span: Span, host: &mut Host) -> Taken {
        let request = self.instruction.enter(head);
        let mut queued = request;
        for burst in self.bursts(span) {
            if burst.opens {
                queued = self.requests.enter(queued);
            }
            let responded = self.writes.response + 3;
            let responded = if self.writes.bursts == 0 { 0 } else { responded };
            let asked = self.reads.addresses.enter((queued + 1).max(self.converter).max(responded));
            self.converter = asked + 1;
            if burst.closes {
                self.requests.leave(asked);
            }
            self.read_burst(burst, asked, head.max(routed), host);
        }
        self.instruction.leave(queued);
        Taken { request, port_b: host.written }
    }

    fn read_burst(&mut self, burst: Burst, asked: Cycle, ready: Cycle, host: &mut Host) {
        let head = (asked + 1).max(self.reads.splitter);
        let known = self.reads.bookkeeping.enter(head);
        let mut first_part = self.part(burst, 0);
        let single = first_part == burst.beats;
        // The parts after the first have their addresses sent one a cycle, once the first is done.
        let (mut address, mut follow) = (head, head.max(known));
        let mut done = 0;
        let mut left_in_vector = self.beats_per_vector;
        while done < burst.beats {
            let part = std::mem::replace(&mut first_part, 0);
            let part = if part == 0 { self.part(burst, done) } else { part };
            self.reads.bursts += 1;
            let mut earliest = (address + self.params.read_latency).max(known);
            for _ in 0..part {
                self.read_beat(earliest, &mut left_in_vector, ready, host);
                earliest = 0;
            }
            done += part;
            if done < burst.beats {
                follow += 1;
                address = follow;
            }
        }
        self.reads.addresses.leave(if single { head.max(known) } else { follow });
        self.reads.splitter = if single { head.max(known) } else { follow } + 1;
        self.reads.bookkeeping.leave(self.reads.beat);
    }

    fn read_beat(&mut self, earliest: Cycle, left_in_vector: &mut u64, ready: Cycle, host: &mut Host) {
        let reads = &mut self.reads;
        reads.beats += 1;
        reads.beat = reads.data.enter(earliest.max(reads.beat + 1));
        let moved = reads.words.enter(reads.beat + 1);
        reads.data.leave(moved);
        *left_in_vector -= 1;
        if self.beats_per_vector == 1 {
            reads.vector = host.write((moved + 1).max(ready));
            reads.words.leave(reads.vector);
            *left_in_vector = 1;
            return;
        }
        reads.word = (moved + 1).max(reads.word + 1).max(reads.vector);
        reads.words.leave(reads.word);
        if *left_in_vector == 0 {
            reads.vector = host.write((reads.word + 1).max(ready));
            *left_in_vector = self.beats_per_vector;
        }
    }

    /// From local memory to DRAM.
    pub(super) fn write(&mut self, head: Cycle, routed: Cycle, span: Span, host: &mut Host) -> Taken {
        let request = self.instruction.enter(head);
        let mut queued = request;
        let mut port_b = 0;
        for burst in self.bursts(span) {
            if burst.opens {
                queued = self.requests.enter(queued);
            }
            let at = (queued + 1).max(self.converter);
            let asked = self.writes.addresses.enter(at);
            port_b = self.write_burst(burst, at, asked, (head, routed), host);
            let finished = asked.max(self.writes.word);
            self.converter = finished + 1;
            if burst.closes {
                self.requests.leave(finished);
            }
        }
        self.instruction.leave(queued);
        Taken { request, port_b }
    }

    /// Gives when port B read the last vector.
    fn write_burst(
        &mut self,
        burst: Burst,
        at: Cycle,
        asked: Cycle,
        (head, routed): (Cycle, Cycle),
        host: &mut Host,
    ) -> Cycle {
        let mut address = (asked + 1).max(self.writes.splitter);
        let (mut left_in_part, mut done, mut known, mut read) = (0, 0, 0, 0);
        let mut responds = 0;
        for _ in 0..burst.vectors {
            read = host.port_b.read(head);
            let mut word = self.serialise(routed, host);
            for _ in 0..self.beats_per_vector {
                if left_in_part == 0 {
                    left_in_part = self.part(burst, done);
                    known = self.writes.data_bookkeeping.enter(address);
                    responds = self.writes.response_bookkeeping.enter(address);
                    address = address.max(known).max(responds) + 1;
                    self.writes.bursts += 1;
                }
                word = self.write_beat(word.max(at), known);
                left_in_part -= 1;
                done += 1;
                if left_in_part == 0 {
                    self.respond(responds);
                }
            }
        }
        self.writes.addresses.leave(address - 1);
        self.writes.splitter = address;
        read
    }

    /// The vector read last goes to the converter: from when on its first word is there.
    fn serialise(&mut self, routed: Cycle, host: &mut Host) -> Cycle {
        let vector = self.writes.vectors.enter(host.port_b.datum().max(routed).max(host.routed + 1));
        host.port_b.leave(vector);
        host.routed = vector;
        host.vectors += 1;
        let taken = (vector + 1).max(self.writes.word);
        self.writes.vectors.leave(taken);
        taken + 1
    }

    fn write_beat(&mut self, word: Cycle, known: Cycle) -> Cycle {
        let writes = &mut self.writes;
        writes.word = writes.data.enter(word.max(writes.word + 1));
        writes.beat = (writes.word + 1).max(writes.beat + 1).max(known);
        writes.data.leave(writes.beat);
        writes.beats += 1;
        writes.word + 1
    }

    fn respond(&mut self, known: Cycle) {
        let writes = &mut self.writes;
        writes.data_bookkeeping.leave(writes.beat);
        let offered = writes.beat + self.params.write_response_latency;
        writes.response = offered.max(writes.response + 1).max(known);
        writes.response_bookkeeping.leave(writes.response);
    }
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    /// First byte.
    address: u64,
    vectors: u64,
    beats: u64,
    /// Takes a place in the queue of requests; gives it up.
    opens: bool,
    closes: bool,
}
