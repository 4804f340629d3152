//! Encoding and decoding, a million instructions each.

use divan::{Bencher, black_box, counter::ItemsCount};
use npukit_base::Word;
use npukit_tcu::internals::op::{DataMoveKind, SimdOp, SimdSub, Strided};
use npukit_tcu::{Codec, Config, Op};

fn main() {
    divan::main();
}

const COUNT: usize = 1_000_000;

fn codec() -> Codec {
    Codec::new(&Config::preset("ultra96v2").expect("a built-in instance"))
}

/// Returns typical instructions of a network's layers: moves, weights, products and additions.
fn program() -> Vec<Op> {
    let at = |address| Strided { address, stride_log2: 1 };
    let layer = |i: u64| {
        let (local, accumulator) = (at(i * 977 % 20_480), at(i * 613 % 4096));
        let sub = SimdSub { op: SimdOp::Max, left: 1, right: 0, destination: 0 };
        [
            Op::DataMove { kind: DataMoveKind::Dram0ToLocal, local, other: at(i), size: 64 },
            Op::LoadWeights { zeroes: false, local, size: 17 },
            Op::MatMul { accumulate: true, zeroes: false, local, accumulator, size: 64 },
            Op::Simd { read: true, write: true, accumulate: false, write_address: 5, read_address: 9, sub },
            Op::DataMove { kind: DataMoveKind::AccumulatorToLocal, local, other: accumulator, size: 64 },
        ]
    };
    (0..).flat_map(layer).take(COUNT).collect()
}

#[divan::bench]
fn encode_a_million(bencher: Bencher<'_, '_>) {
    let (codec, ops) = (codec(), program());
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        ops.iter()
            .map(|op| codec.encode(black_box(op)).expect("legal"))
            .fold(Word::ZERO, |all, word| all | word)
    });
}

#[divan::bench]
fn decode_a_million(bencher: Bencher<'_, '_>) {
    let codec = codec();
    let words: Vec<Word> = program().iter().map(|op| codec.encode(op).expect("legal")).collect();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        words.iter().filter(|&&word| codec.decode(black_box(word)).expect("legal").op == Op::NoOp).count()
    });
}
