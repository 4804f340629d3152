//! Unused results: words of L2 and shapes that are written and never read. [`unread`].

use std::collections::BTreeMap;

use npukit_target::{Finding, Severity, Writers};

use super::finding;
use crate::check::lints::{DEAD_CONFIGURATION, UNREAD_RESULT};
use crate::config::{L2_ENCODABLE, WORD_LANES};
use crate::isa::op::{Banks, Cache, Op, Values};
use crate::isa::usage::words_of;

/// Maximum size of L2 in words; the machine refuses addresses beyond.
const MAX_WORDS: u64 = L2_ENCODABLE as u64;

/// Returns results in L2 that are overwritten before they are read, and shapes that are set again
/// before they are used. If `is_all`, `looked_at` lists all values that are read after the program,
/// and results that are never read are returned, too.
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
            // A partly written word keeps other values. The origin of these values is unknown, so
            // the word is not reported.
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
                "all words of L2 that this writes are overwritten by instruction {by} or earlier, before anything reads them"
            ),
        )
    });
    found.extend(over);
    if is_all {
        found.extend(
            l2.unread().map(|index| {
                unread_result(index, "nothing reads the words of L2 that this writes".to_owned())
            }),
        );
    }
    found
}

fn unread_result(index: usize, reason: String) -> Finding {
    let message = format!("{reason}; remove it, or correct its address or that of the reader");
    finding(UNREAD_RESULT, Severity::Warning, index, message)
}

fn read_all(l2: &mut Writers, values: Values) {
    let first = u64::from(values.word);
    let end = first.saturating_add(words_of(values.count)).min(MAX_WORDS);
    l2.read_run(first..end);
}

/// Returns the words that values fill completely.
fn whole_words(values: Values) -> std::ops::Range<u64> {
    let first = u64::from(values.word);
    first..first.saturating_add((values.count / WORD_LANES) as u64).min(MAX_WORDS)
}

/// For each entry, the last MEMSET that has not been used.
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
            "instruction {index} sets entry {} of {} again before its first use; remove it, or put the instruction \
             that needs it between the two",
            memset.dest_addr,
            memset.dest_cache.name()
        );
        Some(finding(DEAD_CONFIGURATION, Severity::Warning, before, message))
    }
}
