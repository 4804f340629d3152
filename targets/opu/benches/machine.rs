//! Speed of the simulator: multiply-accumulates per second on one core, by types and tile, with
//! exact semantics.

use divan::{Bencher, counter::ItemsCount};
use npukit_opu::{Addend, Arithmetic, Clock, Config, Machine, Op, Pool, Post, Shape};

fn main() {
    divan::main();
}

/// Returns a machine with a loaded tile, and the nine taps of a 3 x 3 kernel over it.
fn tile(preset: &str, arithmetic: Arithmetic, side: u32, [ifm_c, ofm_c]: [u32; 2]) -> (Machine, Vec<Op>) {
    let types = Config::preset(preset).expect("a preset").types;
    let mut machine = Machine::with_arithmetic(types, arithmetic);
    // Bit 6 is the highest exponent bit of a float. Clearing it makes every number finite.
    let bytes: Vec<u8> =
        (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8 & 0xBF).collect();
    machine.write(0, &bytes).expect("in memory");
    let loads = [
        Op::ShapeIfm(Shape { h: side + 2, w: side + 2, c: ifm_c }),
        Op::ShapeOfm(Shape { h: side, w: side, c: ofm_c }),
        Op::ShapeKer { n: 9 },
        Op::MemIfm { bank: 0, w: side + 2 },
        Op::MemKer { bank: 0 },
        Op::MemBias { bank: 0 },
        Op::MemOfm { bank: 1, h: side, w: side },
        Op::Stride { h: 1, w: 1 },
        Op::Shift { ifm: -4, bias: 0 },
        Op::Post(Post::default()),
        Op::Pool(Pool { h: 2, w: 2, stride_h: 2, stride_w: 2 }),
        Op::LoadIfm { addr: 0 },
        Op::LoadKer { addr: 64 },
        Op::LoadBias { addr: 0 },
    ];
    loads.iter().for_each(|op| machine.step(op).expect("legal"));
    let addend = |n| if n == 0 { Addend::Bias } else { Addend::Ofm };
    let taps = (0..9).map(|n| Op::Conv { addend: addend(n), h: n / 3, w: n % 3, n });
    (machine, taps.collect())
}

fn taps(bencher: Bencher<'_, '_>, preset: &str, arithmetic: Arithmetic, side: u32, channels: [u32; 2]) {
    let (mut machine, taps) = tile(preset, arithmetic, side, channels);
    let macs = u64::from(9 * side * side * channels[0] * channels[1]);
    // Items are multiply-accumulates, so divan prints them in units of 10^9 per second.
    bencher.counter(ItemsCount::new(macs)).bench_local(|| {
        taps.iter().for_each(|op| machine.step(op).expect("legal"));
    });
}

/// Published accelerator: 3 x 3 convolutions over tiles with that number of pixels per side.
#[divan::bench(args = [36, 13, 8])]
fn int8_64x64(bencher: Bencher<'_, '_>, side: u32) {
    taps(bencher, "reference", Arithmetic::Fast, side, [64, 64]);
}

#[divan::bench(args = [(16, 16), (32, 32), (64, 16), (16, 64)])]
fn int8_36x36(bencher: Bencher<'_, '_>, (ifm_c, ofm_c): (u32, u32)) {
    taps(bencher, "reference", Arithmetic::Fast, 36, [ifm_c, ofm_c]);
}

/// Types without special vector code.
#[divan::bench(args = ["int16", "fp16", "bf16"], sample_count = 5)]
fn others_8x8(bencher: Bencher<'_, '_>, preset: &str) {
    taps(bencher, preset, Arithmetic::Fast, 8, [64, 64]);
}

#[divan::bench(sample_count = 5)]
fn literal_int8_8x8(bencher: Bencher<'_, '_>) {
    taps(bencher, "reference", Arithmetic::Literal, 8, [64, 64]);
}

/// Store of a tile with 2 x 2 pooling; items are partial sums.
#[divan::bench]
fn store_int8_36x36x64(bencher: Bencher<'_, '_>) {
    let (mut machine, taps) = tile("reference", Arithmetic::Fast, 36, [64, 64]);
    taps.iter().for_each(|op| machine.step(op).expect("legal"));
    bencher
        .counter(ItemsCount::new(36u64 * 36 * 64))
        .bench_local(|| machine.step(&Op::Store { addr: 0 }).expect("legal"));
}

/// Load of a tile; items are bytes.
#[divan::bench]
fn load_int8_38x38x64(bencher: Bencher<'_, '_>) {
    let (mut machine, _) = tile("reference", Arithmetic::Fast, 36, [64, 64]);
    bencher
        .counter(ItemsCount::new(38u64 * 38 * 64))
        .bench_local(|| machine.step(&Op::LoadIfm { addr: 0 }).expect("legal"));
}

/// The clock alone, over many tiles of a layer; items are instructions.
#[divan::bench]
fn clock_reference(bencher: Bencher<'_, '_>) {
    let config = Config::preset("reference").expect("a preset");
    let setup = [
        Op::ShapeIfm(Shape { h: 15, w: 15, c: 64 }),
        Op::ShapeOfm(Shape { h: 13, w: 13, c: 64 }),
        Op::ShapeKer { n: 9 },
        Op::MemIfm { bank: 0, w: 120 },
        Op::MemKer { bank: 1 },
        Op::MemBias { bank: 2 },
        Op::MemOfm { bank: 3, h: 120, w: 120 },
        Op::Stride { h: 1, w: 1 },
        Op::Shift { ifm: -4, bias: 0 },
        Op::Post(Post::ALL[3]),
        Op::Pool(Pool::NONE),
    ];
    let tile = |addr: u32| {
        let loads = [Op::LoadIfm { addr }, Op::LoadKer { addr: 576 * addr }, Op::LoadBias { addr: 2 * addr }];
        let addend = |n| if n == 0 { Addend::Bias } else { Addend::Ofm };
        let taps = (0..9).map(move |n| Op::Conv { addend: addend(n), h: n / 3, w: n % 3, n });
        loads.into_iter().chain(taps).chain([Op::LoadIfm { addr }, Op::Store { addr }])
    };
    let program: Vec<Op> = setup.into_iter().chain((0..1000).flat_map(tile)).collect();
    bencher
        .counter(ItemsCount::new(program.len()))
        .bench_local(|| Clock::cycles(&config, &program).expect("legal"));
}
