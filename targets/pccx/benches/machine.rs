//! The machine: instructions of language models, with exact semantics.
//!
//! `tokens` adds up the instructions of a token of SmolLM2 (135 M weights), as its lowering issues
//! them, next to a `stream` of as many bytes. Functions whose names end with `in_pool` run in a
//! thread of rayon's pool, where small products use several threads, too.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use npukit_pccx::internals::fault::Direction;
use npukit_pccx::internals::op::{
    Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape,
};
use npukit_pccx::{Config, Machine, WeightImage};
use rayon::prelude::*;

fn main() {
    divan::main();
}

/// L2 word of results.
const DEST: u32 = 0x10000;

/// A product, ready to be repeated.
struct Product {
    image: Arc<WeightImage>,
    ops: [Op; 3],
}

impl Product {
    /// Random weights of `n` rows of `k`, and `m` rows of activations.
    fn new([m, n, k]: [u16; 3], accm: bool) -> Self {
        let mut seed = u64::from(n) << 16 | u64::from(k);
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        };
        let rows = (0..WeightImage::size_of(n.into(), k.into())).map(|_| next()).collect();
        let scales = Some(vec![0.01; n.into()]);
        let image = WeightImage::with_any_padding(n.into(), k.into(), rows, scales).expect("a matrix");
        let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
        let flags = MacFlags { w_scale: true, accm, ..MacFlags::default() };
        let mac = Mac { dest_reg: DEST, flags, ..Mac::default() };
        let ops = [
            set(Cache::FmapShape, Shape::new(m, 1, k)),
            set(Cache::WeightShape, Shape::new(0, n, k)),
            if m == 1 { Op::Gemv(mac) } else { Op::Gemm(mac) },
        ];
        Self { image: Arc::new(image), ops }
    }

    fn run(&self, machine: &mut Machine) {
        machine.bind_weights(Arc::clone(&self.image));
        self.ops.iter().for_each(|op| machine.step(op).expect("legal"));
    }

    fn bytes(&self) -> u64 {
        self.image.stream_bytes() + 4 * self.image.n() as u64
    }
}

/// Returns a machine with numbers around 1 in L2.
fn machine() -> Machine {
    let mut machine = Machine::new(&Config::preset("extended").expect("built in")).expect("small");
    let values: Vec<u16> = (0..400_000_u32).map(|i| 0x3E00 + (i * 7919 % 512) as u16).collect();
    machine.write_l2(0, &values).expect("within L2");
    machine
}

/// Measures a function, in a thread of rayon's pool if `in_pool`.
fn measure(bencher: Bencher<'_, '_>, in_pool: bool, [items, bytes]: [u64; 2], run: impl FnMut() + Send) {
    let bencher = bencher.counter(ItemsCount::new(items)).counter(BytesCount::new(bytes));
    if in_pool {
        let mut run = run;
        bencher.bench_local(|| rayon::scope(|_| run()));
    } else {
        bencher.bench_local(run);
    }
}

/// Measures products of one shape, with different weights one after the other: many of them are
/// not in the caches.
fn products(bencher: Bencher<'_, '_>, shape: [u16; 3], copies: u64, in_pool: bool) {
    let all: Vec<Product> = (0..copies).map(|_| Product::new(shape, false)).collect();
    let mut machine = machine();
    let macs = shape.map(u64::from).iter().product::<u64>();
    let bytes = all.iter().map(Product::bytes).sum();
    let run = || all.iter().for_each(|product| product.run(&mut machine));
    measure(bencher, in_pool, [copies * macs, bytes], run);
}

/// Shapes of SmolLM2: matrices, their blocks of 32 columns, keys and values of 256 tokens.
const SHAPES: [(u16, u16, u64); 8] = [
    (576, 576, 300),
    (192, 576, 900),
    (1536, 576, 100),
    (576, 1536, 100),
    (576, 32, 4000),
    (1536, 32, 2000),
    (256, 64, 1000),
    (64, 256, 1000),
];

#[divan::bench(args = SHAPES, sample_count = 20)]
fn gemv(bencher: Bencher<'_, '_>, (n, k, copies): (u16, u16, u64)) {
    products(bencher, [1, n, k], copies, false);
}

#[divan::bench(args = SHAPES, sample_count = 20)]
fn gemv_in_pool(bencher: Bencher<'_, '_>, (n, k, copies): (u16, u16, u64)) {
    products(bencher, [1, n, k], copies, true);
}

#[divan::bench(args = [(49152, 576), (16384, 2048), (2048, 16384)], sample_count = 20)]
fn gemv_large(bencher: Bencher<'_, '_>, (n, k): (u16, u16)) {
    products(bencher, [1, n, k], 4, false);
}

#[divan::bench(args = [(2, 2048, 2048), (16, 576, 576), (64, 1536, 576), (64, 576, 1536), (64, 576, 32),
    (64, 2048, 2048)], sample_count = 20)]
fn gemm(bencher: Bencher<'_, '_>, (m, n, k): (u16, u16, u16)) {
    products(bencher, [m, n, k], 4, false);
}

/// Measures elements of a function.
fn function(bencher: Bencher<'_, '_>, cvo_func: CvoFunc, flags: CvoFlags, length: u16) {
    let mut machine = machine();
    let op = Op::Cvo(Cvo { cvo_func, flags, dst_addr: DEST, length, ..Cvo::default() });
    bencher.counter(ItemsCount::new(length)).bench_local(|| machine.step(&op));
}

#[divan::bench(args = [CvoFunc::Exp, CvoFunc::Sqrt, CvoFunc::Gelu, CvoFunc::ReduceSum, CvoFunc::Scale,
    CvoFunc::Recip, CvoFunc::Mul])]
fn cvo(bencher: Bencher<'_, '_>, cvo_func: CvoFunc) {
    function(bencher, cvo_func, CvoFlags::default(), 1536);
}

#[divan::bench(args = [CvoFunc::Exp, CvoFunc::ReduceSum, CvoFunc::Scale])]
fn cvo_less_e_max(bencher: Bencher<'_, '_>, cvo_func: CvoFunc) {
    function(bencher, cvo_func, CvoFlags { sub_emax: true, ..CvoFlags::default() }, 256);
}

/// Measures copies from the host, within L2, and to the host.
#[divan::bench(args = [(Device::Host, Device::Npu), (Device::Npu, Device::Npu), (Device::Npu, Device::Host)])]
fn memcpy(bencher: Bencher<'_, '_>, (from_device, to_device): (Device, Device)) {
    let mut machine = machine();
    for direction in [Direction::HostToL2, Direction::L2ToHost] {
        machine.open_window(direction, 0, 1 << 16).expect("small");
    }
    let shape = Shape::new(1, 1, 1536);
    let set = Op::Memset(Memset { dest_cache: Cache::FmapShape, dest_addr: 0, shape });
    machine.step(&set).expect("legal");
    let copy = Memcpy { from_device, to_device, ..Memcpy::default() };
    bencher.counter(ItemsCount::new(1536_usize)).bench_local(|| machine.step(&Op::Memcpy(copy)));
}

/// Forms in which the weights of SmolLM2 are multiplied.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// 4 bits, a scale per row.
    OnePass,
    /// 8 bits as two matrices of 4.
    TwoPasses,
    /// Codes of Q4_1: a product for each block of 32 columns.
    Blocks,
}

/// Returns the products of a token.
fn products_of_a_token(form: Form) -> Vec<Product> {
    let passes = |[n, k]: [u16; 2]| [false, true].map(|accm| Product::new([1, n, k], accm)).into();
    let matrix = |[n, k]: [u16; 2]| -> Vec<Product> {
        match form {
            Form::OnePass => vec![Product::new([1, n, k], false)],
            Form::TwoPasses => passes([n, k]),
            Form::Blocks if n == 49152 => passes([n, k]),
            Form::Blocks => (0..k / 32).map(|b| Product::new([1, n, 32], b > 0)).collect(),
        }
    };
    let block = [[576, 576], [192, 576], [192, 576], [576, 576], [1536, 576], [1536, 576], [576, 1536]];
    std::iter::repeat_n(block, 30).flatten().chain([[49152, 576]]).flat_map(matrix).collect()
}

/// Returns the functions of a block in a context of 256 tokens: softmax of nine heads, the gate of
/// the feed-forward part, and two norms.
fn functions_of_a_block() -> Vec<Op> {
    use CvoFunc::{Exp, Mul, Recip, ReduceSum, Scale};
    let cvo = |cvo_func, length| Cvo { cvo_func, dst_addr: DEST, length, ..Cvo::default() };
    let exp = Cvo { flags: CvoFlags { sub_emax: true, ..CvoFlags::default() }, ..cvo(Exp, 256) };
    let scale = Cvo { flags: CvoFlags { recip_scale: true, ..CvoFlags::default() }, ..cvo(Scale, 256) };
    let head = [exp, cvo(ReduceSum, 256), scale];
    let gate = [Exp, Scale, Recip, Mul, Mul].map(|function| cvo(function, 1536));
    let norm = [Scale, Mul, ReduceSum, Scale, Mul].map(|function| cvo(function, 576));
    (0..9).flat_map(|_| head).chain(gate).chain(norm).chain(norm).map(Op::Cvo).collect()
}

const FORMS: [Form; 3] = [Form::OnePass, Form::TwoPasses, Form::Blocks];

#[divan::bench(args = FORMS, sample_count = 20)]
fn tokens(bencher: Bencher<'_, '_>, form: Form) {
    token(bencher, form, false);
}

#[divan::bench(args = FORMS, sample_count = 20)]
fn tokens_in_pool(bencher: Bencher<'_, '_>, form: Form) {
    token(bencher, form, true);
}

/// Measures a token: its products, attention to 256 tokens, and functions.
fn token(bencher: Bencher<'_, '_>, form: Form, in_pool: bool) {
    let mut machine = machine();
    let all = products_of_a_token(form);
    let of_a_head = [Product::new([1, 256, 64], false), Product::new([1, 64, 256], false)];
    let functions = functions_of_a_block();
    let bytes = all.iter().map(Product::bytes).sum();
    let run = || {
        all.iter().for_each(|product| product.run(&mut machine));
        (0..30 * 9).for_each(|_| of_a_head.iter().for_each(|product| product.run(&mut machine)));
        (0..30).for_each(|_| functions.iter().for_each(|op| machine.step(op).expect("legal")));
    };
    measure(bencher, in_pool, [1, bytes], run);
}

/// Measures the bandwidth of memory: a reduction of 64 MB, in one thread and in all.
#[divan::bench(args = [false, true], sample_count = 20)]
fn stream(bencher: Bencher<'_, '_>, in_threads: bool) {
    let words = vec![1_u64; 8 << 20];
    let sum = |words: &[u64]| words.iter().fold(0_u64, |sum, word| sum ^ word);
    bencher.counter(BytesCount::of_slice(&words[..])).bench_local(|| {
        if in_threads { words.par_chunks(1 << 14).map(sum).reduce(|| 0, |a, b| a ^ b) } else { sum(&words) }
    });
}
