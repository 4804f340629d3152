//! The machine against its literal arithmetic: the same instructions on the same memories leave the
//! same bits.

use std::sync::Arc;

use npukit_pccx::internals::arith::{Arithmetic, Bits, Literal};
use npukit_pccx::internals::fault::Direction;
use npukit_pccx::internals::op::{
    Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape,
};
use npukit_pccx::{Config, Machine, Reading, WeightImage};
use proptest::prelude::*;

/// L2 words of operands and results, and scalars of the memory that is compared.
const SOURCE: u32 = 0;
const DEST: u32 = 4096;
const COMPARED: usize = 1 << 19;

/// Instructions with their memories.
#[derive(Clone, Debug)]
struct Case {
    reading: Reading,
    /// Seed of memories and window.
    seed: u64,
    /// Content of L2, starting at [`SOURCE`] and at [`DEST`].
    contents: [Vec<u16>; 2],
    weights: Option<Arc<WeightImage>>,
    e_max: u16,
    ops: Vec<Op>,
}

/// Returns L2 and `e_max` after the instructions.
fn run<A>(case: &Case) -> (Vec<u16>, u16)
where
    A: Arithmetic<Scalar = u16, Image = WeightImage>,
{
    let config = Config { reading: case.reading, ..Config::preset("extended").unwrap() };
    let mut machine = Machine::<A>::filled(&config, Some(case.seed)).unwrap();
    for direction in [Direction::HostToL2, Direction::L2ToHost] {
        machine.open_window(direction, 0, 1 << 12).unwrap();
    }
    for (address, content) in [SOURCE, DEST].into_iter().zip(&case.contents) {
        machine.write_l2(address, content).unwrap();
    }
    machine.set_e_max(case.e_max);
    for op in &case.ops {
        case.weights.iter().for_each(|image| machine.bind_weights(Arc::clone(image)));
        machine.step(op).unwrap();
    }
    (machine.read_l2(0, COMPARED).unwrap().to_vec(), machine.e_max())
}

fn agree(case: &Case) {
    let (found, expected) = (run::<Bits>(case), run::<Literal>(case));
    let wrong = found.0.iter().zip(&expected.0).position(|(found, expected)| found != expected);
    let values = wrong.map(|at| (at, found.0[at], expected.0[at]));
    assert!(wrong.is_none() && found.1 == expected.1, "{values:04x?} {:04x} {:04x}", found.1, expected.1);
}

/// Patterns around 1, and now and then any pattern.
fn patterns(count: usize) -> impl Strategy<Value = Vec<u16>> {
    let special = vec![0, 0x8000, 1, 0x807F, 0x7F80, 0xFF80, 0x7FC0, 0x3F80, 0x0080];
    let usual = prop_oneof![0x3A00..0x4180_u16, 0xBA00..0xC180_u16];
    let mixed = prop_oneof![
        40 => prop_oneof![0x3A00..0x4180_u16, 0xBA00..0xC180_u16],
        4 => any::<u16>(),
        1 => prop::sample::select(special),
    ];
    prop_oneof![prop::collection::vec(usual, count), prop::collection::vec(mixed, count)]
}

fn flags() -> impl Strategy<Value = MacFlags> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(findemax, accm, w_scale)| MacFlags {
        findemax,
        accm,
        w_scale,
    })
}

fn reading() -> impl Strategy<Value = Reading> {
    prop::sample::select(vec![Reading::Documents, Reading::Seed])
}

/// Returns the instructions of a product, and its weights.
fn product(
    [m, n, k]: [u16; 3],
    injected: u16,
    flags: MacFlags,
    seed: u64,
) -> (Option<Arc<WeightImage>>, Vec<Op>) {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let rows = (0..WeightImage::size_of(n.into(), k.into())).map(|_| next()).collect();
    let scales = (0..n).map(|_| (f32::from(next()) - 127.5) / 1000.0).collect();
    let image = WeightImage::with_any_padding(n.into(), k.into(), rows, Some(scales)).unwrap();
    let set = |dest_cache, shape| Op::Memset(Memset { dest_cache, dest_addr: 0, shape });
    let mac = Mac { src_addr: SOURCE, dest_reg: DEST, flags, ..Mac::default() };
    let ops = vec![
        set(Cache::FmapShape, Shape::new(m, 1, k)),
        set(Cache::WeightShape, Shape::new(injected, n, k)),
        if m == 1 { Op::Gemv(mac) } else { Op::Gemm(mac) },
    ];
    (Some(Arc::new(image)), ops)
}

fn cvo_flags() -> impl Strategy<Value = CvoFlags> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(sub_emax, recip_scale, accm)| CvoFlags {
        sub_emax,
        recip_scale,
        accm,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn products_are_the_literal_ones(
        (m, n, k) in prop_oneof![
            (Just(1_u16), 1..200_u16, prop_oneof![1..100_u16, Just(32), Just(64), Just(576)]),
            (2..20_u16, 1..70_u16, 1..150_u16),
        ],
        source in patterns(20 * 150),
        dest in patterns(20 * 200),
        flags in flags(),
        reading in reading(),
        injected in prop_oneof![Just(0_u16), 0x3C00..0x4000_u16],
        seed: u64,
    ) {
        let (weights, ops) = product([m, n, k], injected, flags, seed);
        agree(&Case { reading, seed, contents: [source, dest], weights, e_max: 0x3F80, ops });
    }

    #[test]
    fn functions_are_the_literal_ones(
        function in prop::sample::select(CvoFunc::ALL.to_vec()),
        length in prop_oneof![1..40_u16, 500..1100_u16],
        source in patterns(1200),
        dest in patterns(1200),
        flags in cvo_flags(),
        reading in reading(),
        e_max in prop_oneof![0x3F80..0x4180_u16, any::<u16>()],
        // Source and destination may overlap.
        dst_addr in prop_oneof![Just(DEST), Just(SOURCE), Just(SOURCE + 1), Just(SOURCE + 9)],
        seed: u64,
    ) {
        let cvo = Cvo { cvo_func: function, src_addr: SOURCE, dst_addr, length, flags, is_async: false };
        let ops = vec![Op::Cvo(cvo)];
        agree(&Case { reading, seed, contents: [source, dest], weights: None, e_max, ops });
    }

    #[test]
    fn moves_are_the_literal_ones(values in 1..1000_u16, aux_addr in 0..100_u32, seed: u64) {
        let shape = Shape::new(1, 1, values);
        let memcpy = Memcpy { shape_ptr_addr: 0, aux_addr, ..Memcpy::default() };
        let (device, host) = (Device::Npu, Device::Host);
        let ops = vec![
            Op::Memset(Memset { dest_cache: Cache::FmapShape, dest_addr: 0, shape }),
            Op::Memcpy(Memcpy { from_device: host, to_device: device, dest_addr: DEST, ..memcpy }),
            Op::Memcpy(Memcpy { from_device: device, to_device: device, src_addr: DEST + 1, ..memcpy }),
            Op::Memcpy(Memcpy { from_device: device, to_device: host, ..memcpy }),
        ];
        let contents = [Vec::new(), Vec::new()];
        agree(&Case { reading: Reading::Documents, seed, contents, weights: None, e_max: 0, ops });
    }
}

/// Exponentials of all patterns, and of their difference to numbers with all exponents.
#[test]
fn every_exponential_is_the_literal_one() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    for e_max in (0..=u16::MAX).step_by(0x7B1).chain([0, 0x7F80, 0xFF80]) {
        let of_part = |part: u16| Cvo {
            src_addr: SOURCE + u32::from(part) * 256,
            dst_addr: 16384 + u32::from(part) * 256,
            length: 2048,
            flags: CvoFlags { sub_emax: e_max != 0, ..CvoFlags::default() },
            ..Cvo::default()
        };
        let ops = (0..32).map(|part| Op::Cvo(of_part(part))).collect();
        let contents = [all.clone(), Vec::new()];
        agree(&Case { reading: Reading::Documents, seed: 1, contents, weights: None, e_max, ops });
    }
}

/// Products that several threads compute, in the pool and outside of it.
#[test]
fn threads_do_not_change_a_product() {
    for [m, n, k] in [[1, 5000, 1000], [5, 3001, 600]] {
        let (weights, ops) = product([m, n, k], 0, MacFlags { findemax: true, accm: true, w_scale: true }, 7);
        let source = (0..usize::from(m) * usize::from(k)).map(|i| 0x3E00 + (i * 7919 % 512) as u16).collect();
        let contents = [source, Vec::new()];
        let case = Case { reading: Reading::Documents, seed: 3, contents, weights, e_max: 0, ops };
        agree(&case);
        rayon::scope(|_| agree(&case));
    }
}
