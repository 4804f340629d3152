//! Transfers from DRAM to local memory: [`Reads`].

use super::super::host::PortB;
use super::super::queue::{Cycle, NEVER, Pass, Queue};
use super::super::stall::Stall;
use super::{Bank, Burst, Span, Taken};
use crate::config::packing::Packing;

/// Queues of the read channels, and the last events.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    addresses: Queue,
    splitter: Cycle,
    bookkeeping: Pass,
    /// Cycle of the last beat on the bus.
    beat: Cycle,
    /// Queue of beats after the port; the next one is before the converter.
    data: Queue,
    words: Queue,
    /// Cycle at which the last word of a vector was assembled; `vector` is when that vector was
    /// written.
    word: Cycle,
    vector: Cycle,
    /// Cycle of the first beat of the transfer.
    first_beat: Cycle,
    pub(super) beats: u64,
    pub(super) bursts: u64,
}

impl Reads {
    /// Creates empty queues for `remembered` tracked bursts.
    pub(super) fn new(remembered: usize) -> Self {
        Self {
            addresses: Queue::default(),
            splitter: 0,
            bookkeeping: Pass::new(remembered),
            beat: 0,
            data: Queue::default(),
            words: Queue::default(),
            word: 0,
            vector: 0,
            first_beat: 0,
            beats: 0,
            bursts: 0,
        }
    }

    /// Visits the times that change from transfer to transfer.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        let Self { addresses, splitter, bookkeeping, beat, data, words, word, vector, .. } = self;
        [addresses, data, words].into_iter().for_each(|queue| queue.times(&mut visit));
        bookkeeping.times(&mut visit);
        [splitter, beat, word, vector].into_iter().for_each(visit);
    }
}

impl Bank {
    /// Transfers a span from DRAM to local memory; the decoder offers it at `head`.
    pub(in crate::clock) fn read(&mut self, head: Cycle, span: Span, port: &mut impl PortB) -> Taken {
        let request = self.instruction.enter(head);
        let mut queued = request;
        self.reads.first_beat = NEVER;
        for burst in self.bursts(span) {
            if burst.opens {
                queued = self.request(queued);
            }
            // A response passes two queues; one cycle later, the number of writes in flight
            // decreases.
            let responded = self.writes.response + 3;
            let ready = (queued + 1).max(self.converter);
            self.stalls.add(Stall::Responses, ready, responded);
            let asked = self.reads.addresses.enter(ready.max(responded));
            // The queue of addresses accepts the next address one cycle later.
            self.converter = asked;
            if burst.closes {
                self.requests.leave(asked);
            }
            self.read_burst(burst, asked, port);
        }
        self.instruction.leave(queued);
        let Reads { first_beat, beat: last_beat, .. } = self.reads;
        Taken { request, port_b: port.last(), first_beat, last_beat }
    }

    /// Reads a burst. The burst's address left the converter at `asked`.
    fn read_burst(&mut self, burst: Burst, asked: Cycle, port: &mut impl PortB) {
        let mut sent = (asked + 1).max(self.reads.splitter);
        let known = self.reads.bookkeeping.enter(sent);
        // The bus is idle after this cycle or the next one, since a beat before the last one makes
        // room.
        let idle = (asked + 1).max(self.reads.beat);
        self.stalls.add(Stall::ReadsUnderWay, idle, known);
        // Bytes of the vector being assembled. Bytes before the first vector are not counted.
        let (mut done, mut held) = (0, 0);
        let mut skipped = burst.skipped;
        let mut missing = burst.vectors * self.packing.vector_bytes;
        loop {
            let part = self.part(burst, done);
            self.reads.bursts += 1;
            let mut earliest = (sent + self.params.read_latency).max(known);
            self.stalls.add(Stall::Latency, known.max(idle).max(self.reads.beat + 1), earliest);
            for _ in 0..part {
                let own = (self.packing.word_bytes - skipped).min(missing);
                (skipped, missing, held) = (0, missing - own, held + own);
                self.read_beat(earliest, &mut held, port);
                earliest = 0;
            }
            done += part;
            // The burst has one bookkeeping entry, so only its first part waits for a free entry.
            sent = sent.max(known);
            if done >= burst.beats {
                break;
            }
            sent += 1;
        }
        self.reads.addresses.leave(sent);
        self.reads.splitter = sent + 1;
        self.reads.bookkeeping.leave(self.reads.beat);
    }

    /// Reads a beat that is on the bus at `earliest` or later. With it, `held` bytes of vectors are
    /// available. Complete vectors go to local memory, one per cycle.
    fn read_beat(&mut self, earliest: Cycle, held: &mut u64, port: &mut impl PortB) {
        let Packing { vector_bytes, word_bytes } = self.packing;
        let reads = &mut self.reads;
        reads.beats += 1;
        reads.beat = reads.data.enter(earliest);
        let moved = reads.words.enter(reads.beat + 1);
        reads.data.leave(moved);
        reads.first_beat = reads.first_beat.min(reads.beat);
        if vector_bytes == word_bytes {
            reads.vector = port.write(moved + 1);
            reads.words.leave(reads.vector);
            *held = 0;
            return;
        }
        reads.word = (moved + 1).max(reads.word + 1).max(reads.vector);
        reads.words.leave(reads.word);
        let mut whole = reads.word + 1;
        while *held >= vector_bytes {
            reads.vector = port.write(whole);
            *held -= vector_bytes;
            whole = reads.vector + 1;
        }
    }
}
