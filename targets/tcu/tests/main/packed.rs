//! Vectors that are no whole words of the bus, and programs by the page: the clock against cycles measured on the circuit in
//! Verilator.
//!
//! `packed.json` is what `tests/python/rtl_random.py --packed --keep` writes, `page.json` the same with `--page`: random programs
//! on random instances, with when the circuit accepts each instruction, and its total.

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
