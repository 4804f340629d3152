//! Short sequences with manually computed times, at least one for each hazard of the
//! specification's section 8.2, and properties of random sequences.

#![allow(clippy::unwrap_used, reason = "tests")]
mod properties;
mod published;

use super::*;
use crate::isa::op::{Addend, Pool, Post, Shape};

/// Returns an instance without latencies and with one cycle per word, so that times can be computed
/// manually: with the registers of [`setup`], `ld.ifm` takes 100 cycles, `ld.ker` 64, `ld.bias` 2,
/// `conv` 400, `store` 100.
fn ideal() -> Config {
    Config::preset("ideal").unwrap()
}

const TILE: Shape = Shape { h: 10, w: 10, c: 64 };

/// Returns the setup instructions: features from bank 0, kernels 1, biases 2, results to bank 3.
fn setup() -> Vec<Op> {
    vec![
        Op::ShapeIfm(TILE),
        Op::ShapeOfm(TILE),
        Op::ShapeKer { n: 1 },
        Op::MemIfm { bank: 0, w: 10 },
        Op::MemKer { bank: 1 },
        Op::MemBias { bank: 2 },
        Op::MemOfm { bank: 3, h: 10, w: 10 },
        Op::Stride { h: 1, w: 1 },
        Op::Shift { ifm: 0, bias: 0 },
        Op::Post(Post::default()),
        Op::Pool(Pool::NONE),
    ]
}

const IFM: Op = Op::LoadIfm { addr: 0 };
const KER: Op = Op::LoadKer { addr: 0 };
const BIAS: Op = Op::LoadBias { addr: 0 };
const STORE: Op = Op::Store { addr: 0 };
const CONV: Op = Op::Conv { addend: Addend::Zero, h: 0, w: 0, n: 0 };
const WITH_BIAS: Op = Op::Conv { addend: Addend::Bias, h: 0, w: 0, n: 0 };
const ACC: Op = Op::Conv { addend: Addend::Ofm, h: 0, w: 0, n: 0 };
const RES: Op = Op::Post(Post { res: true, ..Post::ALL[0] });

/// Runs a program and returns the slices of all engines except the front end, in program order, and
/// the totals.
fn run(config: &Config, program: &[Op]) -> (Vec<Slice>, Totals) {
    let mut slices = Vec::new();
    let mut clock = Clock::new(config);
    for op in program {
        clock.push(op, &mut |slice| slices.push(slice)).unwrap();
    }
    let totals = clock.finish(&mut |slice| slices.push(slice));
    slices.retain(|slice| slice.engine != Engine::FrontEnd);
    slices.sort_by_key(|slice| slice.instruction);
    (slices, totals)
}

/// Returns start and end of each instruction after the setup, and the totals.
fn times(config: &Config, ops: &[Op]) -> (Vec<(u64, u64)>, Totals) {
    let program: Vec<Op> = setup().into_iter().chain(ops.iter().copied()).collect();
    let (slices, totals) = run(config, &program);
    (slices.iter().map(|slice| (slice.start, slice.end)).collect(), totals)
}

#[test]
fn a_convolution_waits_for_all_it_reads() {
    // Loads run one after another: ifm to cycle 100, kernel to 164, bias to 166.
    let (found, totals) = times(&ideal(), &[IFM, KER, BIAS, WITH_BIAS, STORE]);
    assert_eq!(found, [(0, 100), (100, 164), (164, 166), (166, 566), (566, 666)]);
    assert_eq!(totals.cycles, 666);
    assert_eq!(totals.wait(Engine::Multiply, Cause::Bias), 166);
    assert_eq!(totals.wait(Engine::Store, Cause::Convolution), 566);
    // A convolution without the bias does not wait for it.
    let (found, _) = times(&ideal(), &[IFM, KER, BIAS, CONV]);
    assert_eq!(found[3], (164, 564));
    let (found, totals) = times(&ideal(), &[KER, IFM, CONV]);
    assert_eq!(found[2], (164, 564));
    assert_eq!(totals.wait(Engine::Multiply, Cause::Ifm), 164);
}

#[test]
fn a_load_fills_the_other_bank_and_waits_for_readers_of_its_own() {
    // The second tile is loaded at once. The third tile waits for the bank of the first, which is
    // read until 564.
    let ops = [IFM, KER, CONV, IFM, IFM];
    let (found, totals) = times(&ideal(), &ops);
    assert_eq!(found, [(0, 100), (100, 164), (164, 564), (164, 264), (564, 664)]);
    assert_eq!(totals.wait(Engine::Load, Cause::BankRead), 300);
    // With one bank, even the second load waits. With three banks, no load waits.
    let mut config = ideal();
    config.timing.ifm_banks = 1;
    assert_eq!(times(&config, &ops).0[3..], [(564, 664), (664, 764)]);
    config.timing.ifm_banks = 3;
    assert_eq!(times(&config, &ops).0[3..], [(164, 264), (264, 364)]);
}

#[test]
fn a_residual_is_read_from_the_tile_of_its_store() {
    // The residual's tile is loaded during the convolution, and the store reads it from 564 to 664.
    // The next tile takes the first tile's bank. The tile after that takes the residual's bank, so
    // it waits for the store.
    let (found, totals) = times(&ideal(), &[IFM, KER, CONV, RES, IFM, STORE, IFM, IFM]);
    let loads = [(164, 264), (564, 664), (664, 764), (764, 864)];
    assert_eq!(found[..3], [(0, 100), (100, 164), (164, 564)]);
    assert_eq!((found[3], found[4], found[5], found[6]), (loads[0], loads[1], loads[2], loads[3]));
    assert_eq!(totals.wait(Engine::Load, Cause::Port), 400);
    // If the residual is late, the store waits for it.
    let mut config = ideal();
    config.timing.ifm_row_latency = 100;
    let (found, totals) = times(&config, &[IFM, KER, CONV, RES, IFM, STORE]);
    // Rows take 110 cycles, so the ifm is loaded to 1100. The kernel ends at 1164, the convolution
    // at 1564. The residual is loaded from 1164 to 2264.
    assert_eq!(found[4], (2264, 2364));
    assert_eq!(totals.wait(Engine::Store, Cause::Ifm), 2264);
}

#[test]
fn sums_are_overwritten_and_added_to_when_stores_have_read_them() {
    // The store reads from 564 to 664. It takes 20 more cycles, for which the next task does not
    // wait.
    let mut config = ideal();
    config.timing.store_latency = 20;
    for next in [CONV, ACC] {
        let (found, totals) = times(&config, &[IFM, KER, CONV, STORE, next]);
        assert_eq!(found[3..], [(564, 684), (664, 1064)], "{next:?}");
        assert_eq!(totals.wait(Engine::Multiply, Cause::Ker), 164);
        assert_eq!(totals.wait(Engine::Multiply, Cause::SumsStored), 100);
    }
    // A second bank of sums is free for a convolution that overwrites sums, but not for one that
    // adds.
    config.timing.ofm_banks = 2;
    assert_eq!(times(&config, &[IFM, KER, CONV, STORE, CONV]).0[4], (564, 964));
    assert_eq!(times(&config, &[IFM, KER, CONV, STORE, ACC]).0[4], (664, 1064));
    // Without a store between them, convolutions do not wait.
    assert_eq!(times(&config, &[IFM, KER, CONV, ACC, ACC]).0[4], (964, 1364));
}

#[test]
fn a_load_of_stored_bytes_waits_for_the_store() {
    let load = |bank, addr| [Op::MemIfm { bank, w: 10 }, Op::LoadIfm { addr }];
    let after = |ops: [Op; 2]| times(&ideal(), &[&[IFM, KER, CONV, STORE][..], &ops].concat());
    // The store writes slots 0 to 99 of bank 3, from 564 to 664.
    let (found, totals) = after(load(3, 99));
    assert_eq!(found[4], (664, 764));
    assert_eq!(totals.wait(Engine::Load, Cause::Memory), 500);
    assert_eq!(after(load(3, 100)).0[4], (164, 264));
    assert_eq!(after(load(4, 0)).0[4], (164, 264));
}

#[test]
fn a_store_over_loaded_bytes_waits_for_the_load() {
    // The store could start at 564. With separate ports, it waits only for the load of the same
    // bytes, which ends at 2164.
    let mut config = ideal();
    config.timing.port = Port::Split;
    let big = Op::ShapeIfm(Shape { h: 20, w: 100, c: 64 });
    let over = |bank| {
        let ops = [IFM, KER, CONV, big, Op::MemIfm { bank, w: 100 }, IFM, STORE];
        times(&config, &ops)
    };
    assert_eq!(over(0).0[3..], [(164, 2164), (564, 664)]);
    let (found, totals) = over(3);
    assert_eq!(found[3..], [(164, 2164), (2164, 2264)]);
    assert_eq!(totals.wait(Engine::Store, Cause::Memory), 2164);
}

#[test]
fn transfers_share_the_port_or_do_not() {
    // The convolution ends at 564, during a load that lasts from 164 to 2164.
    let big = Op::ShapeIfm(Shape { h: 20, w: 100, c: 64 });
    let ops = [IFM, KER, CONV, big, Op::MemIfm { bank: 0, w: 100 }, IFM, STORE];
    let (found, totals) = times(&ideal(), &ops);
    assert_eq!(found[3..], [(164, 2164), (2164, 2264)]);
    assert_eq!(totals.wait(Engine::Store, Cause::Port), 2164);
    assert_eq!((totals.port, totals.words), ([2164, 100], 2264));
    let mut config = ideal();
    config.timing.port = Port::Split;
    assert_eq!(times(&config, &ops).0[4], (564, 664));
}

#[test]
fn who_can_start_first_has_the_port_and_of_two_the_older() {
    // At 564, both the store and the load that waited for its bank can start. The older one starts.
    let (found, _) = times(&ideal(), &[IFM, KER, CONV, IFM, STORE, IFM]);
    assert_eq!(found[3..], [(164, 264), (564, 664), (664, 764)]);
    let (found, _) = times(&ideal(), &[IFM, KER, CONV, IFM, IFM, STORE]);
    assert_eq!(found[3..], [(164, 264), (564, 664), (664, 764)]);
}

#[test]
fn the_front_end_waits_for_room_in_a_queue() {
    // A word takes one cycle: 11 registers, the ifm at 12, the kernel at 13. One load runs from 12
    // to 112 while one waits.
    let mut config = ideal();
    config.timing.fetch_cycles = 1;
    config.timing.queue = 1;
    let (found, totals) = times(&config, &[IFM, KER, BIAS, CONV]);
    // The bias is fetched at 14. It is issued when the kernel starts, at 112, and the convolution
    // at 113.
    assert_eq!(found, [(12, 112), (112, 176), (176, 178), (176, 576)]);
    assert_eq!(totals.wait(Engine::FrontEnd, Cause::LoadQueue), 98);
    assert_eq!(totals.busy(Engine::FrontEnd), 15);
    // The convolution was issued at 113 and waits for the kernel.
    assert_eq!(totals.wait(Engine::Multiply, Cause::Ker), 63);
}

#[test]
fn registers_count_as_they_are_when_the_instruction_is_issued() {
    // The second shape is set long before the first convolution starts, but applies only to the
    // third load.
    let small = Op::ShapeIfm(Shape { h: 5, w: 10, c: 64 });
    let (found, _) = times(&ideal(), &[IFM, KER, CONV, small, IFM]);
    assert_eq!(found, [(0, 100), (100, 164), (164, 564), (164, 214)]);
}

#[test]
fn pads_take_a_cycle_a_slot_and_come_after_stores() {
    let mut config = ideal();
    config.timing.pad_cycles_per_slot = 1;
    // A border of one around 10 by 10 is 36 slots.
    let (found, _) = times(&config, &[IFM, KER, CONV, STORE, Op::Pad { addr: 0, p: 1 }]);
    assert_eq!(found[4], (664, 700));
}

#[test]
fn undefined_registers_are_faults() {
    let fault = Clock::cycles(&ideal(), &[IFM]).unwrap_err();
    assert_eq!(fault.name(), "undefined-register");
    let mut clock = Clock::new(&ideal());
    for op in &setup()[..10] {
        clock.push(op, &mut |_| ()).unwrap();
    }
    assert!(clock.push(&STORE, &mut |_| ()).is_err() && clock.push(&CONV, &mut |_| ()).is_ok());
}

#[test]
fn illegal_fields_are_faults() {
    let pool = Pool { stride_h: 0, ..Pool::NONE };
    let fault = |op: Op| Clock::cycles(&ideal(), &[op]).unwrap_err().name();
    assert_eq!(fault(Op::Pool(pool)), "pool-invalid");
    assert_eq!(fault(Op::ShapeOfm(Shape { h: u32::MAX, ..TILE })), "shape-invalid");
    // A number larger than its field is treated as the field's maximum.
    let huge = [Op::MemOfm { bank: u32::MAX, h: u32::MAX, w: u32::MAX }, Op::Pad { addr: 0, p: u32::MAX }];
    let mut config = ideal();
    config.timing.pad_cycles_per_slot = 1;
    assert_eq!(Clock::cycles(&config, &huge), Ok(1023 * 1023));
}

#[test]
fn a_clone_goes_on_by_itself() {
    let mut clock = Clock::new(&ideal());
    for op in setup().iter().chain(&[IFM, KER]) {
        clock.push(op, &mut |_| ()).unwrap();
    }
    let mut candidate = clock.clone();
    candidate.push(&CONV, &mut |_| ()).unwrap();
    assert_eq!(candidate.finish(&mut |_| ()).cycles, 564);
    assert_eq!(clock.finish(&mut |_| ()).cycles, 164);
}
