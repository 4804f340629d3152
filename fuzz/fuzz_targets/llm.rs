//! Fuzz target of `npukit_fuzzing::llm`, which documents its input.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| npukit_fuzzing::llm(bytes));
