//! Every path of the product of bytes against the reference.

use npukit_numeric::{Path, Pixels, Pointwise, pointwise, pointwise_on};
use proptest::prelude::*;

/// A product to compute: inputs, weights and old results are taken cyclically from `values`.
#[derive(Clone, Debug)]
struct Case {
    grid: [usize; 2],
    steps: [usize; 2],
    channels: usize,
    outputs: usize,
    shifts: [u32; 2],
    accumulate: bool,
    values: Vec<i8>,
    offset: i32,
    add: i32,
}

impl Case {
    fn compute(&self, path: Path) -> Vec<i16> {
        let [rows, columns] = self.grid;
        let (column, row) =
            (self.steps[1] * self.channels, self.steps[0] * columns * self.steps[1] * self.channels);
        let mut values = self.values.iter().copied().cycle();
        let inputs: Vec<i8> = values.by_ref().take(rows * row).collect();
        let weights: Vec<i8> = values.by_ref().take(self.outputs * self.channels).collect();
        let old = values.take(rows * columns * self.outputs);
        let mut results: Vec<i16> = old.map(|value| i16::from(value) * 256).collect();
        let lanes = |value: i32| (0..self.outputs as i32).map(|k| value / (k + 1)).collect::<Vec<i32>>();
        let (offset, add) = (lanes(self.offset), lanes(self.add));
        let product = Pointwise {
            inputs: &inputs,
            pixels: Pixels { rows, columns, row, column },
            weights: &weights,
            channels: self.channels,
            left: self.shifts[0],
            right: self.shifts[1],
            offset: &offset,
            add: &add,
            accumulate: self.accumulate,
        };
        assert!(pointwise_on(path, &product, &mut results));
        results
    }
}

fn case() -> impl Strategy<Value = Case> {
    let byte = prop_oneof![any::<i8>(), Just(i8::MIN), Just(i8::MAX)];
    let addend = || prop_oneof![-(1 << 29)..=1 << 29, -100_000..100_000, Just(0)];
    let sizes = ([1..5usize, 1..12usize], [1..3usize, 1..3usize], 1..=16usize, 1..=80usize);
    let numbers =
        ([0..=9u32, 0..=30u32], any::<bool>(), prop::collection::vec(byte, 1..400), addend(), addend());
    (sizes, numbers).prop_map(|((grid, steps, fours, outputs), (shifts, accumulate, values, offset, add))| {
        Case { grid, steps, channels: 4 * fours, outputs, shifts, accumulate, values, offset, add }
    })
}

proptest! {
    #[test]
    fn every_path_computes_the_same(case in case()) {
        let literal = case.compute(Path::Literal);
        for path in Path::available() {
            prop_assert_eq!(&case.compute(path), &literal, "{:?}", path);
        }
    }
}

#[test]
fn sums_at_both_ends() {
    for (x, results) in [(i8::MIN, [i16::MAX, i16::MAX]), (i8::MAX, [i16::MIN, i16::MIN])] {
        for path in Path::available() {
            let case = Case {
                grid: [1, 1],
                steps: [1, 1],
                channels: 64,
                outputs: 2,
                shifts: [9, 0],
                accumulate: false,
                values: [vec![x; 64], vec![i8::MIN; 128]].concat(),
                offset: if x < 0 { 1 << 29 } else { -(1 << 29) },
                add: 0,
            };
            assert_eq!(case.compute(path), results, "{path:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_left_alone() {
    let sound = Pointwise {
        inputs: &[1; 64],
        pixels: Pixels { rows: 2, columns: 2, row: 32, column: 16 },
        weights: &[1; 32],
        channels: 16,
        left: 0,
        right: 0,
        offset: &[0; 2],
        add: &[0; 2],
        accumulate: false,
    };
    let mut results = [7; 8];
    assert!(pointwise(&sound, &mut results));
    assert_eq!(results, [16; 8]);
    let unsound = [
        Pointwise { channels: 15, ..sound },
        Pointwise { channels: 15, weights: &[1; 30], ..sound },
        Pointwise { channels: 0, weights: &[], ..sound },
        Pointwise { inputs: &[1; 63], ..sound },
        Pointwise { weights: &[1; 31], ..sound },
        Pointwise { left: 10, ..sound },
        Pointwise { right: 31, ..sound },
        Pointwise { offset: &[i32::MIN, 0], ..sound },
        Pointwise { add: &[0; 3], ..sound },
        Pointwise { pixels: Pixels { rows: 0, ..sound.pixels }, ..sound },
        Pointwise { pixels: Pixels { row: usize::MAX, ..sound.pixels }, ..sound },
    ];
    for product in unsound {
        assert!(!pointwise(&product, &mut results), "{product:?}");
    }
    assert_eq!(results, [16; 8]);
    let no_outputs = Pointwise { weights: &[], offset: &[], add: &[], ..sound };
    assert!(!pointwise(&no_outputs, &mut []));
}

/// Pixels with gaps, and outputs that each use another channel. All paths share the code that finds
/// pixels, so comparing them does not check it.
#[test]
fn each_output_reads_its_own_pixel() {
    let inputs: Vec<i8> = (0..64).collect();
    for path in Path::available() {
        let product = Pointwise {
            inputs: &inputs,
            pixels: Pixels { rows: 2, columns: 3, row: 28, column: 9 },
            weights: &[1, 0, 0, 0, 0, 0, 0, 1],
            channels: 4,
            left: 0,
            right: 0,
            offset: &[0; 2],
            add: &[0; 2],
            accumulate: false,
        };
        let mut results = [0; 12];
        assert!(pointwise_on(path, &product, &mut results));
        assert_eq!(results, [0, 3, 9, 12, 18, 21, 28, 31, 37, 40, 46, 49], "{path:?}");
    }
}
