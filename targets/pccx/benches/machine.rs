//! The machine: products of 4-bit weights with exact semantics, including quantization and
//! rounding.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use npukit_pccx::internals::op::{Cache, Cvo, CvoFunc, Mac, MacFlags, Memset, Op, Shape};
use npukit_pccx::{Config, Machine, WeightImage};

fn main() {
    divan::main();
}

/// Measures multiply-accumulates with random weights, and activations around 1.
fn product(bencher: Bencher<'_, '_>, m: u16, n: u16, k: u16, op: fn(Mac) -> Op) {
    let Some(config) = Config::preset("reference") else { return };
    let Ok(mut machine) = Machine::new(&config) else { return };
    let mut seed = 1_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    };
    let rows = (0..usize::from(n) * usize::from(k).div_ceil(32) * 16).map(|_| next()).collect();
    let Ok(image) = WeightImage::with_rows(n.into(), k.into(), rows, Some(vec![0.01; n.into()])) else {
        return;
    };
    let image = Arc::new(image);
    let activations: Vec<u16> =
        (0..usize::from(m) * usize::from(k)).map(|_| 0x3F00 + u16::from(next())).collect();
    let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
    let ready = machine.write_l2(0, &activations).is_ok()
        && machine.step(&set(Cache::FmapShape, Shape::new(m, 1, k))).is_ok()
        && machine.step(&set(Cache::WeightShape, Shape::new(0, n, k))).is_ok();
    let flags = MacFlags { w_scale: true, ..MacFlags::default() };
    let op = op(Mac { dest_reg: 0x10000, flags, ..Mac::default() });
    if ready {
        let macs = usize::from(m) * usize::from(n) * usize::from(k);
        bencher.counter(ItemsCount::new(macs)).bench_local(|| {
            machine.bind_weights(Arc::clone(&image));
            machine.step(&op)
        });
    }
}

#[divan::bench(args = [(2048, 2048), (16384, 2048), (2048, 16384)])]
fn gemv(bencher: Bencher<'_, '_>, (n, k): (u16, u16)) {
    product(bencher, 1, n, k, Op::Gemv);
}

#[divan::bench(args = [(2, 2048, 2048), (8, 2048, 2048), (16, 2048, 2048), (64, 2048, 2048), (2, 16384, 2048)])]
fn gemm(bencher: Bencher<'_, '_>, (m, n, k): (u16, u16, u16)) {
    product(bencher, m, n, k, Op::Gemm);
}

/// Measures elements of a function.
#[divan::bench(args = [CvoFunc::Exp, CvoFunc::Gelu, CvoFunc::Scale, CvoFunc::ReduceSum])]
fn cvo(bencher: Bencher<'_, '_>, cvo_func: CvoFunc) {
    let Some(config) = Config::preset("reference") else { return };
    let Ok(mut machine) = Machine::new(&config) else { return };
    let op = Op::Cvo(Cvo { cvo_func, dst_addr: 0x1000, length: 2048, ..Cvo::default() });
    bencher.counter(ItemsCount::new(2048_usize)).bench_local(|| machine.step(&op));
}
