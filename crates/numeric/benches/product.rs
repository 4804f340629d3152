//! The array product: multiply-accumulates per second on one core, by path, format and size.

use divan::{Bencher, counter::ItemsCount};
use npukit_numeric::{ArrayWeights, Fixed, Float, Number, Path, Rows, Saturations, array_product_on};

fn main() {
    divan::main();
}

const ROWS: usize = 256;

fn product<F: Number>(bencher: Bencher<'_, '_>, path: Path, lanes: usize) {
    if !Path::available().contains(&path) {
        return;
    }
    let mut weights = ArrayWeights::<F>::new(lanes, lanes);
    for k in 0..=lanes {
        let row: Vec<F::Raw> =
            (0..lanes).map(|j| F::from_raw(((k * 31 + j * 17) % 101) as i32 - 50)).collect();
        weights.set_row(k, &row);
    }
    let x: Vec<F::Raw> = (0..ROWS * lanes).map(|i| F::from_raw((i * 37 % 511) as i32 - 255)).collect();
    let mut y = vec![F::Raw::default(); ROWS * lanes];
    let mut saturations = Saturations::default();
    // Items are multiply-accumulates: divan prints giga-items per second.
    bencher.counter(ItemsCount::new(ROWS * lanes * lanes)).bench_local(|| {
        let rows = Rows { values: divan::black_box(&x[..]), pitch: lanes, count: ROWS };
        array_product_on::<F>(path, &weights, rows, &mut y, &mut saturations);
    });
}

// Several calls per sample: a call on 8 lanes is too short for an accurate time measurement.
#[divan::bench(sample_size = 32, args = [(Path::Literal, 16), (Path::Portable, 16), (Path::Avx2, 8), (Path::Avx2, 16), (Path::Avx2, 32),
    (Path::Avx512, 8), (Path::Avx512, 12), (Path::Avx512, 16), (Path::Avx512, 32)])]
fn fp16bp8(bencher: Bencher<'_, '_>, (path, lanes): (Path, usize)) {
    product::<Fixed<i16, 16, 8>>(bencher, path, lanes);
}

#[divan::bench(args = [(Path::Literal, 16), (Path::Avx2, 16), (Path::Avx512, 16)])]
fn fp32bp16(bencher: Bencher<'_, '_>, (path, lanes): (Path, usize)) {
    product::<Fixed<i32, 32, 16>>(bencher, path, lanes);
}

#[divan::bench(args = [(Path::Literal, 16), (Path::Avx2, 16), (Path::Avx512, 16)])]
fn float32(bencher: Bencher<'_, '_>, (path, lanes): (Path, usize)) {
    product::<Float>(bencher, path, lanes);
}
