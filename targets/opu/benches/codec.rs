//! Encoding and decoding of a million words.

use divan::{Bencher, black_box, counter::ItemsCount};
use npukit_opu::{Addend, Op, Pool, Post, Shape, Validity, decode, encode};

fn main() {
    divan::main();
}

const COUNT: usize = 1_000_000;

/// Returns the instructions of tiles, as the compiler emits them: mostly loads, convolutions and
/// stores.
fn program() -> Vec<Op> {
    let tile = |i: u32| {
        [
            Op::ShapeIfm(Shape { h: 14 + i % 3, w: 14, c: 64 }),
            Op::ShapeKer { n: 9 },
            Op::MemOfm { bank: i % 16, h: 56, w: 58 },
            Op::Shift { ifm: -7, bias: 3 },
            Op::Post(Post::ALL[i as usize % 11]),
            Op::Pool(Pool { h: 2, w: 2, stride_h: 2, stride_w: 2 }),
            Op::LoadIfm { addr: i * 977 % (1 << 22) },
            Op::LoadKer { addr: i * 613 % (1 << 22) },
            Op::Conv { addend: Addend::Bias, h: i % 3, w: 1, n: i % 9 },
            Op::Conv { addend: Addend::Ofm, h: i % 3, w: 2, n: i % 9 },
            Op::Conv { addend: Addend::Ofm, h: i % 2, w: 0, n: i % 9 },
            Op::Store { addr: i * 331 % (1 << 22) },
        ]
    };
    (0..).flat_map(tile).take(COUNT).collect()
}

#[divan::bench]
fn encode_a_million(bencher: Bencher<'_, '_>) {
    let ops = program();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        ops.iter()
            .map(|op| encode(black_box(op), Validity::Corrected).expect("legal"))
            .fold(0, |sum, word| sum ^ word)
    });
}

#[divan::bench]
fn decode_a_million(bencher: Bencher<'_, '_>) {
    let words: Vec<u32> =
        program().iter().map(|op| encode(op, Validity::Corrected).expect("legal")).collect();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        words
            .iter()
            .filter(|&&word| decode(black_box(word), Validity::Corrected).expect("legal") == Op::End)
            .count()
    });
}
