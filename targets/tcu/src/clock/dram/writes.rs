//! Transfers from local memory to DRAM: [`Writes`].

use super::super::host::PortB;
use super::super::queue::{Cycle, NEVER, Pass, Queue};
use super::super::stall::Stall;
use super::{Bank, Burst, Span, Taken};

/// Queues of the write channels, and the last events.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    vectors: Queue,
    addresses: Queue,
    /// Cycle at which the last address was issued; it includes the offset configured in that cycle.
    pub(super) addressed: Cycle,
    splitter: Cycle,
    data_bookkeeping: Pass,
    response_bookkeeping: Pass,
    /// Cycle at which the converter took the last word of a vector.
    word: Cycle,
    data: Queue,
    /// Cycles of the last beat on the bus and of the last response.
    pub(super) beat: Cycle,
    pub(super) response: Cycle,
    /// Cycle of the first beat of the transfer.
    first_beat: Cycle,
    pub(super) beats: u64,
    pub(super) bursts: u64,
}

impl Writes {
    /// Creates empty queues for `remembered` tracked bursts.
    pub(super) fn new(remembered: usize) -> Self {
        Self {
            vectors: Queue::default(),
            addresses: Queue::default(),
            addressed: 0,
            splitter: 0,
            data_bookkeeping: Pass::new(remembered),
            response_bookkeeping: Pass::new(remembered),
            word: 0,
            data: Queue::default(),
            beat: 0,
            response: 0,
            first_beat: 0,
            beats: 0,
            bursts: 0,
        }
    }

    /// Visits the times that change from transfer to transfer. The cycle of the last address is
    /// omitted, as no other time depends on it.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        let Self { vectors, addresses, splitter, word, data, beat, response, .. } = self;
        [vectors, addresses, data].into_iter().for_each(|queue| queue.times(&mut visit));
        [&mut self.data_bookkeeping, &mut self.response_bookkeeping]
            .into_iter()
            .for_each(|bursts| bursts.times(&mut visit));
        [splitter, word, beat, response].into_iter().for_each(visit);
    }
}

impl Bank {
    /// Transfers a span from local memory to DRAM; the decoder offers it at `head`.
    pub(in crate::clock) fn write(&mut self, head: Cycle, span: Span, port: &mut impl PortB) -> Taken {
        let request = self.instruction.enter(head);
        let mut queued = request;
        self.writes.first_beat = NEVER;
        for burst in self.bursts(span) {
            if burst.opens {
                queued = self.request(queued);
            }
            let at = (queued + 1).max(self.converter);
            let asked = self.writes.addresses.enter(at);
            self.writes.addressed = asked;
            self.write_burst(burst, at, asked, port);
            let finished = asked.max(self.writes.word);
            self.converter = finished + 1;
            if burst.closes {
                self.requests.leave(finished);
            }
        }
        self.instruction.leave(queued);
        let Writes { first_beat, beat: last_beat, .. } = self.writes;
        Taken { request, port_b: port.last(), first_beat, last_beat }
    }

    /// Writes a burst that is at the converter since `at`. The burst's address left the converter
    /// at `asked`. Every part has an entry in the bookkeeping of data and of responses.
    fn write_burst(&mut self, burst: Burst, at: Cycle, asked: Cycle, port: &mut impl PortB) {
        // The address arrives one cycle later, as does the first word. All other steps wait for
        // that word.
        let mut address = asked.max(self.writes.splitter);
        let (mut left_in_part, mut done, mut known) = (0, 0, 0);
        let mut responds = 0;
        // Bytes of the word being assembled, and the cycle in which the next vector can be added.
        let (mut held, mut free) = (burst.skipped, if self.packing.is_whole() { 0 } else { at });
        for vector in 0..burst.vectors {
            port.read();
            let word = self.serialize(free, port);
            (held, free) = (held + self.packing.vector_bytes, word);
            while held >= self.packing.word_bytes || (held > 0 && vector + 1 == burst.vectors) {
                held = held.saturating_sub(self.packing.word_bytes);
                if left_in_part == 0 {
                    left_in_part = self.part(burst, done);
                    known = self.writes.data_bookkeeping.enter(address);
                    responds = self.writes.response_bookkeeping.enter(address);
                    // The bus is idle starting at this cycle.
                    let idle = (asked + 1).max(self.writes.beat + 1);
                    self.stalls.add(Stall::WritesUnderWay, idle, known);
                    address = address.max(known).max(responds) + 1;
                    self.writes.bursts += 1;
                }
                self.write_beat(word.max(at), known);
                left_in_part -= 1;
                done += 1;
                if left_in_part == 0 {
                    self.respond(responds);
                }
            }
        }
        self.writes.addresses.leave(address - 1);
        self.writes.splitter = address;
    }

    /// Passes the vector read last to the converter, not before `free`. Returns when its first word
    /// is available.
    fn serialize(&mut self, free: Cycle, port: &mut impl PortB) -> Cycle {
        let vector = self.writes.vectors.enter(port.datum());
        port.pass(vector);
        let taken = (vector + 1).max(self.writes.word).max(free);
        self.writes.vectors.leave(taken);
        taken + 1
    }

    /// Writes the next word of a vector, which is available at `word`, in a part that the splitter
    /// knows at `known`.
    fn write_beat(&mut self, word: Cycle, known: Cycle) {
        let writes = &mut self.writes;
        writes.word = writes.data.enter(word);
        writes.beat = (writes.word + 1).max(writes.beat + 1).max(known);
        writes.data.leave(writes.beat);
        writes.first_beat = writes.first_beat.min(writes.beat);
        writes.beats += 1;
    }

    /// Records the last beat of a part.
    fn respond(&mut self, known: Cycle) {
        let writes = &mut self.writes;
        writes.data_bookkeeping.leave(writes.beat);
        let offered = writes.beat + self.params.write_response_latency;
        // Beats, bookkeeping entries and responses take one cycle each.
        writes.response = offered.max(known);
        writes.response_bookkeeping.leave(writes.response);
    }
}
