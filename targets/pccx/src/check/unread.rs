//! What is written and nobody uses: words of L2, and shapes. [`unread`].

use std::collections::BTreeMap;

use npukit_target::{Finding, Severity, Writers};

use super::finding;
use crate::check::lints::{DEAD_CONFIGURATION, UNREAD_RESULT};
use crate::config::{L2_ENCODABLE, WORD_LANES};
use crate::isa::op::{Banks, Cache, Op, Values};
use crate::isa::usage::words_of;

/// Words that L2 can have; an address beyond is the machine's to refuse.
const MAX_WORDS: u64 = L2_ENCODABLE as u64;

/// Results in L2 that are overwritten before anything reads them, and shapes that are set again before anything takes
/// them. When `is_all` of what anybody looks at behind the program is `looked_at`, also results that nothing reads at all.
pub(super) fn unread(ops: &[Op], looked_at: &[Values], is_all: bool) -> Vec<Finding> {
    let (mut banks, mut l2, mut shapes) = (Banks::default(), Writers::default(), Shapes::default());
    let mut found = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        let access = op.access(&banks);
        access.shapes.into_iter().flatten().for_each(|entry| shapes.take(entry));
        let updated = access.writes.filter(|_| access.updates);
        let read = access.reads.into_iter().chain([updated]).flatten();
        read.for_each(|values| read_all(&mut l2, values));
        if let Some(values) = access.writes {
            l2.write_run(index, whole_words(values));
            // Of a word that is not written whole, other values are left: nobody knows whose they are.
            if !values.count.is_multiple_of(WORD_LANES) {
                l2.forgive(index);
            }
        }
        found.extend(shapes.set(index, op));
        banks.step(op);
    }
    looked_at.iter().for_each(|&values| read_all(&mut l2, values));
    let over = l2.overwritten().iter().map(|over| {
        let by = over.by;
        unread_result(
            over.writer,
            format!(
                "all that this writes to L2 is overwritten up to instruction {by} before anything reads it"
            ),
        )
    });
    found.extend(over);
    if is_all {
        found.extend(
            l2.unread().map(|index| unread_result(index, "nothing reads what this writes to L2".to_owned())),
        );
    }
    found
}

fn unread_result(index: usize, reason: String) -> Finding {
    let message = format!("{reason}; take it away, or correct its address or that of the reader");
    finding(UNREAD_RESULT, Severity::Warning, index, message)
}

fn read_all(l2: &mut Writers, values: Values) {
    let first = u64::from(values.word);
    let end = first.saturating_add(words_of(values.count)).min(MAX_WORDS);
    l2.read_run(first..end);
}

/// The words that values fill.
fn whole_words(values: Values) -> std::ops::Range<u64> {
    let first = u64::from(values.word);
    first..first.saturating_add((values.count / WORD_LANES) as u64).min(MAX_WORDS)
}

/// The last MEMSET of each entry that nothing has taken.
#[derive(Default)]
struct Shapes(BTreeMap<(bool, u8), usize>);

impl Shapes {
    fn take(&mut self, (cache, entry): (Cache, u8)) {
        self.0.remove(&(cache == Cache::WeightShape, entry));
    }

    fn set(&mut self, index: usize, op: &Op) -> Option<Finding> {
        let Op::Memset(memset) = op else { return None };
        let before = self.0.insert((memset.dest_cache == Cache::WeightShape, memset.dest_addr), index)?;
        let message = format!(
            "instruction {index} sets entry {} of {} again before anything takes it; take it away, or put the instruction \
             that is meant between the two",
            memset.dest_addr,
            memset.dest_cache.name()
        );
        Some(finding(DEAD_CONFIGURATION, Severity::Warning, before, message))
    }
}
