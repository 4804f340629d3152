//! `npukit_fuzzing::messages` says what it takes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| npukit_fuzzing::messages(bytes));
