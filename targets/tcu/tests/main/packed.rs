//! Vectors that are not whole words of the bus, and programs by the instruction set specification:
//! the clock against cycles measured on the circuit in Verilator.
//!
//! `packed.json` is written by `tests/python/rtl_random.py --packed --keep`, and `page.json`
//! additionally with `--page`. They have random programs on random instances, with the cycle in
//! which the circuit accepts each instruction, and the total.

use npukit_tcu::Reading;

use crate::overlapped::measured;

#[test]
fn vectors_that_share_words_take_the_cycles_of_the_circuit() {
    for (config, bus) in measured(include_str!("packed.json"), false) {
        assert!(!config.vector_bits().is_multiple_of(bus.into()), "{config:?}");
    }
}

#[test]
fn what_only_the_page_has_takes_the_cycles_of_the_circuit() {
    for (config, _) in measured(include_str!("page.json"), false) {
        assert_eq!(config.reading, Reading::Seed);
    }
}
