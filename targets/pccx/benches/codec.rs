//! Encoding and decoding of a million words each.

use divan::{Bencher, black_box, counter::ItemsCount};
use npukit_pccx::internals::op::{Cvo, CvoFunc, Mac, Memcpy, Memset, Shape};
use npukit_pccx::{Codec, Op};

fn main() {
    divan::main();
}

const COUNT: usize = 1_000_000;
const CODEC: Codec = Codec { extensions: true, strict: true };

/// Returns the instructions of a decoder's layers: shapes, moves, products and functions.
fn program() -> Vec<Op> {
    let layer = |i: u32| {
        let (address, entry) = (i * 977 % (1 << 17), (i % 64) as u8);
        let mac = Mac { dest_reg: address, src_addr: 64, size_ptr_addr: entry, ..Mac::default() };
        [
            Op::Memset(Memset { dest_addr: entry, shape: Shape::new(1, 1, 2048), ..Memset::default() }),
            Op::Memcpy(Memcpy {
                dest_addr: address,
                shape_ptr_addr: entry,
                is_async: true,
                ..Memcpy::default()
            }),
            Op::Gemv(mac),
            Op::Gemm(mac),
            Op::Cvo(Cvo { cvo_func: CvoFunc::Scale, src_addr: address, length: 512, ..Cvo::default() }),
        ]
    };
    (0..).flat_map(layer).take(COUNT).collect()
}

#[divan::bench]
fn encode_a_million(bencher: Bencher<'_, '_>) {
    let ops = program();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        ops.iter().map(|op| CODEC.encode(black_box(op)).expect("legal")).fold(0, |sum, word| sum ^ word)
    });
}

#[divan::bench]
fn decode_a_million(bencher: Bencher<'_, '_>) {
    let words: Vec<u64> = program().iter().map(|op| CODEC.encode(op).expect("legal")).collect();
    bencher.counter(ItemsCount::new(COUNT)).bench_local(|| {
        words.iter().filter(|&&word| CODEC.decode(black_box(word)).expect("legal") == Op::Kick).count()
    });
}
