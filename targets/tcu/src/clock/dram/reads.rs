//! From DRAM to local memory: [`Reads`].

use super::super::host::Host;
use super::super::queue::{Cycle, NEVER, Pair, Queue};
use super::super::stall::Stall;
use super::{Bank, Burst, Span, Taken};

/// Queues of the read channels, and the last events.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    addresses: Queue,
    splitter: Cycle,
    bookkeeping: Pair,
    /// The last beat on the bus.
    beat: Cycle,
    /// Beats after the port, then before the converter.
    data: Queue,
    words: Queue,
    /// The last word of a vector put together, and when that vector was written.
    word: Cycle,
    vector: Cycle,
    /// The first beat of the transfer.
    first_beat: Cycle,
    pub(super) beats: u64,
    pub(super) bursts: u64,
}

impl Reads {
    /// What they keep from transfer to transfer.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        let Self { addresses, splitter, bookkeeping, beat, data, words, word, vector, .. } = self;
        [addresses, data, words].into_iter().for_each(|queue| queue.times(&mut visit));
        bookkeeping.times(&mut visit);
        [splitter, beat, word, vector].into_iter().for_each(visit);
    }
}

impl Bank {
    /// From DRAM to local memory; `head` is when the decoder offers it, `routed` when the host
    /// router has taken it.
    pub(in crate::clock) fn read(
        &mut self,
        head: Cycle,
        routed: Cycle,
        span: Span,
        host: &mut Host,
    ) -> Taken {
        let request = self.instruction.enter(head);
        let mut queued = request;
        self.reads.first_beat = NEVER;
        for burst in self.bursts(span) {
            if burst.opens {
                queued = self.request(queued);
            }
            // A response passes two queues, then the count of writes under way drops.
            let responded = self.writes.response + 3;
            let ready = (queued + 1).max(self.converter);
            self.stalls.add(Stall::Responses, ready, responded);
            let asked = self.reads.addresses.enter(ready.max(responded));
            // The queue of addresses takes the next one a cycle later.
            self.converter = asked;
            if burst.closes {
                self.requests.leave(asked);
            }
            self.read_burst(burst, asked, (head, routed), host);
        }
        self.instruction.leave(queued);
        let Reads { first_beat, beat: last_beat, .. } = self.reads;
        Taken { request, port_b: host.written, first_beat, last_beat }
    }

    /// A burst whose address left the converter at `asked`; local memory takes vectors from `local` on.
    fn read_burst(&mut self, burst: Burst, asked: Cycle, local: (Cycle, Cycle), host: &mut Host) {
        let mut sent = (asked + 1).max(self.reads.splitter);
        let known = self.reads.bookkeeping.enter(sent);
        // The bus stands still from then on, or from a cycle later: room comes with a beat before the last one.
        let idle = (asked + 1).max(self.reads.beat);
        self.stalls.add(Stall::ReadsUnderWay, idle, known);
        let (mut done, mut left_in_vector) = (0, self.beats_per_vector);
        loop {
            let part = self.part(burst, done);
            self.reads.bursts += 1;
            let mut earliest = (sent + self.params.read_latency).max(known);
            self.stalls.add(Stall::Latency, known.max(idle).max(self.reads.beat + 1), earliest);
            for _ in 0..part {
                self.read_beat(earliest, &mut left_in_vector, local, host);
                earliest = 0;
            }
            done += part;
            // The burst is one entry of the bookkeeping: only its first part waits for a place there.
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

    /// A beat that is on the bus from `earliest` on; the last of a vector takes it to local memory.
    fn read_beat(
        &mut self,
        earliest: Cycle,
        left_in_vector: &mut u64,
        (head, routed): (Cycle, Cycle),
        host: &mut Host,
    ) {
        let reads = &mut self.reads;
        reads.beats += 1;
        reads.beat = reads.data.enter(earliest);
        let moved = reads.words.enter(reads.beat + 1);
        reads.data.leave(moved);
        reads.first_beat = reads.first_beat.min(reads.beat);
        *left_in_vector -= 1;
        if self.beats_per_vector == 1 {
            reads.vector = host.write(head, (moved + 1).max(routed));
            reads.words.leave(reads.vector);
            *left_in_vector = 1;
            return;
        }
        reads.word = (moved + 1).max(reads.word + 1).max(reads.vector);
        reads.words.leave(reads.word);
        if *left_in_vector == 0 {
            reads.vector = host.write(head, (reads.word + 1).max(routed));
            *left_in_vector = self.beats_per_vector;
        }
    }
}
