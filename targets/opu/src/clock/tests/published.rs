//! The published schedule of Tiny YOLO (specification, 7.5 and 8.4) as instructions, compared to
//! the cycles that the published compiler and profiler print for each layer.

use super::*;

/// Convolution with `size` by `size` results, followed by max pooling, in tiles of `tile` by
/// `tile`.
struct Layer {
    size: u32,
    channels: [u32; 2],
    kernel: u32,
    tile: u32,
    pool: [u32; 2],
    /// Published cycles: of the compiler's scheduler, and with the profiler's costs.
    published: [u64; 2],
}

#[rustfmt::skip] // A table: one line per layer.
const TINY_YOLO: [Layer; 9] = [
    Layer { size: 416, channels: [32, 16],     kernel: 1, tile: 38, pool: [2, 2], published: [218_467, 353_991] },
    Layer { size: 208, channels: [16, 32],     kernel: 3, tile: 36, pool: [2, 2], published: [401_783, 444_509] },
    Layer { size: 104, channels: [32, 64],     kernel: 3, tile: 36, pool: [2, 2], published: [199_127, 209_353] },
    Layer { size: 52,  channels: [64, 128],    kernel: 3, tile: 36, pool: [2, 2], published: [198_063, 203_695] },
    Layer { size: 26,  channels: [128, 256],   kernel: 3, tile: 26, pool: [2, 2], published: [196_727, 200_897] },
    Layer { size: 14,  channels: [256, 512],   kernel: 3, tile: 14, pool: [2, 1], published: [227_979, 241_060] },
    Layer { size: 13,  channels: [512, 1024],  kernel: 3, tile: 13, pool: [1, 1], published: [782_260, 817_990] },
    Layer { size: 13,  channels: [1024, 1024], kernel: 3, tile: 13, pool: [1, 1], published: [1_561_012, 1_630_406] },
    Layer { size: 13,  channels: [1024, 32],   kernel: 1, tile: 13, pool: [1, 1], published: [5_781, 6_408] },
];

/// Returns the channels of each block; only whole blocks exist.
fn block(channels: u32) -> u32 {
    channels.min(64)
}

impl Layer {
    /// Returns the instructions tile by tile; for each tile the output blocks; for each of those
    /// the input blocks, whose sums stay on chip.
    fn program(&self) -> Vec<Op> {
        let [window, stride] = self.pool;
        let cut = |size| (0..size).step_by(self.tile as usize).map(move |at| (at, self.tile.min(size - at)));
        let mut ops = vec![
            Op::MemIfm { bank: 0, w: self.size + self.kernel - 1 },
            Op::MemKer { bank: 1 },
            Op::MemBias { bank: 2 },
            Op::MemOfm { bank: 3, h: self.size / stride, w: self.size / stride },
            Op::Post(Post::default()),
            Op::Pool(Pool { h: window, w: window, stride_h: stride, stride_w: stride }),
            Op::ShapeKer { n: self.kernel * self.kernel },
        ];
        for (top, h) in cut(self.size) {
            for (left, w) in cut(self.size) {
                self.tile(&mut ops, [top, left], [h, w]);
            }
        }
        ops
    }

    fn tile(&self, ops: &mut Vec<Op>, [top, left]: [u32; 2], [h, w]: [u32; 2]) {
        let [inputs, outputs] = self.channels;
        let (ifm_c, ofm_c, reach) = (block(inputs), block(outputs), self.kernel - 1);
        ops.push(Op::ShapeIfm(Shape { h: h + reach, w: w + reach, c: ifm_c }));
        ops.push(Op::ShapeOfm(Shape { h, w, c: ofm_c }));
        let slice = self.kernel * self.kernel * ifm_c * ofm_c / 64;
        for output in 0..outputs / ofm_c {
            ops.push(Op::LoadBias { addr: 2 * output });
            for input in 0..inputs / ifm_c {
                if output == 0 || inputs > ifm_c {
                    let plane = input * (self.size + reach) * (self.size + reach);
                    ops.push(Op::LoadIfm { addr: plane + top * (self.size + reach) + left });
                }
                ops.push(Op::LoadKer { addr: (output * inputs / ifm_c + input) * slice });
                for n in 0..self.kernel * self.kernel {
                    let addend = if (input, n) == (0, 0) { Addend::Bias } else { Addend::Ofm };
                    ops.push(Op::Conv { addend, h: n / self.kernel, w: n % self.kernel, n });
                }
            }
            let [window, stride] = self.pool;
            if h >= window && w >= window {
                ops.push(Op::Store { addr: (top * self.size + left) / stride });
            }
        }
    }
}

/// Returns npukit's cycles and the published cycles, by layer, for the profile with index `place`
/// in the table.
fn cycles(profile: &str, place: usize) -> [(u64, u64); 9] {
    let config = Config::preset(profile).unwrap();
    TINY_YOLO.each_ref().map(|layer| {
        let found = Clock::cycles(&config, &layer.program()).unwrap();
        (found, layer.published[place])
    })
}

fn distance((found, published): (u64, u64)) -> f64 {
    found.abs_diff(published) as f64 / published as f64
}

fn sum(cycles: &[(u64, u64)]) -> (u64, u64) {
    cycles.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

/// Layers that compute more than they move match within two cycles. The first two show that a
/// transfer does not hold the scheduler's port until it is done.
#[test]
fn the_schedulers_cycles_are_met() {
    let layers = cycles("ideal", 0);
    assert_eq!(sum(&layers).1, 3_791_199);
    assert!(layers[2..].iter().all(|(found, published)| found.abs_diff(*published) <= 2), "{layers:?}");
    assert!(layers[..2].iter().all(|&layer| distance(layer) < 0.005), "{layers:?}");
    assert!(distance(sum(&layers)) < 0.0003, "{:?}", sum(&layers));
}

/// The profiler adds up stages, each as long as its longest event: it overlaps a little less.
#[test]
fn the_profilers_cycles_are_met() {
    let layers = cycles("detailed", 1);
    assert_eq!(sum(&layers).1, 4_108_309);
    assert!(layers.iter().all(|&layer| distance(layer) < 0.01), "{layers:?}");
    assert!(distance(sum(&layers)) < 0.003, "{:?}", sum(&layers));
}
