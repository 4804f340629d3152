//! `npukit_fuzzing::configurations` says what it takes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| npukit_fuzzing::configurations(bytes));
