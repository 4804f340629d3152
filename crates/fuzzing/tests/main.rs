//! Replays the corpora of `fuzz/`: every file, and many reproducibly damaged variants of each.
//!
//! No case may panic, take long or use much memory. `NPUKIT_FUZZ_CASES` is the number of damaged
//! variants per file, 128 by default.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "main/corpus.rs"]
mod corpus;
#[path = "main/damage.rs"]
mod damage;
#[path = "main/replay.rs"]
mod replay;

use npukit_fuzzing::TARGETS;

#[test]
fn every_reader_bears_its_corpus_damaged() {
    let wrong: Vec<String> =
        TARGETS.into_iter().flat_map(|(name, reader)| replay::replay(name, reader)).collect();
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
