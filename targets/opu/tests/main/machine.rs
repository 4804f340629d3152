//! The machine: fast code compared with the literal one, and rules that golden vectors do not
//! cover.

use npukit_opu::internals::array::Elements;
use npukit_opu::internals::clock::{Engine, Slice};
use npukit_opu::internals::config::Port;
use npukit_opu::internals::machine::Loaded;
use npukit_opu::{
    AccessError, Addend, Arithmetic, Buffer, Clock, Config, DataType, FaultKind, Machine, Op, Pool, Post,
    Shape, Types, Validity, encode,
};
use proptest::prelude::*;

/// Types with fast code, and types without.
const TYPES: [[&str; 4]; 12] = [
    ["int8", "int16", "int8", "int16"],
    ["int8", "int32", "int8", "int16"],
    ["fx8_5", "fx16_10", "fx8_7", "fx16_9"],
    ["fx6_3", "fx12_8", "fx4_3", "fx14_6"],
    ["int8", "int16", "int8", "int32"],
    ["int8", "int8", "int8", "int8"],
    ["int16", "int32", "int16", "int32"],
    ["int16", "int16", "int8", "int8"],
    ["int32", "int32", "int32", "int32"],
    ["bf16", "bf16", "bf16", "fp32"],
    ["fp16", "fp16", "fp16", "fp16"],
    ["bf16", "fx16_8", "fx8_7", "fp32"],
];

fn types([itype, btype, ktype, otype]: [&str; 4]) -> Types {
    let parse = |name: &str| name.parse::<DataType>().unwrap();
    Types { itype: parse(itype), btype: parse(btype), ktype: parse(ktype), otype: parse(otype) }
}

/// Tile: all parameters that its instructions depend on.
#[derive(Clone, Debug)]
struct Tile {
    types: usize,
    channels: [u32; 2],
    size: [u32; 2],
    stride: [u32; 2],
    shift: [i32; 2],
    taps: Vec<(u8, u32)>,
    post: usize,
    pool: [u32; 4],
    bytes: Vec<u8>,
}

fn tile() -> impl Strategy<Value = Tile> {
    let channels = (0..3u32, 1..=6u32).prop_map(|(ifm, ofm)| [16 << ifm, 1 << ofm]);
    let byte = prop_oneof![any::<u8>(), Just(0x7F), Just(0x80), Just(0)];
    // Small exponents keep float patterns finite. The remaining infinite patterns are excluded
    // below.
    let shapes = (0..TYPES.len(), channels, [2..6u32, 2..6u32], [1..3u32, 1..3u32]);
    let shift = prop_oneof![-40..40i32, -10..6i32, Just(127), Just(-128)];
    let work = ([shift.clone(), shift], prop::collection::vec((0..3u8, 0..4u32), 1..5), 0..Post::ALL.len());
    let rest = ([1..3u32, 1..3u32, 1..3u32, 1..3u32], prop::collection::vec(byte, 64..700));
    (shapes, work, rest).prop_map(|((types, channels, size, stride), (shift, taps, post), (pool, bytes))| {
        Tile { types, channels, size, stride, shift, taps, post, pool, bytes }
    })
}

impl Tile {
    fn ops(&self) -> Vec<Op> {
        let [h, w] = self.size;
        let [sh, sw] = self.stride;
        let ifm = Shape { h: (h - 1) * sh + 3, w: (w - 1) * sw + 3, c: self.channels[0] };
        let [pool_h, pool_w, stride_h, stride_w] = self.pool;
        let mut ops = vec![
            Op::ShapeIfm(ifm),
            Op::ShapeOfm(Shape { h, w, c: self.channels[1] }),
            Op::ShapeKer { n: 4 },
            Op::MemIfm { bank: 0, w: ifm.w + 1 },
            Op::MemKer { bank: 0 },
            Op::MemBias { bank: 0 },
            Op::MemOfm { bank: 1, h, w },
            Op::Stride { h: sh, w: sw },
            Op::Shift { ifm: self.shift[0], bias: self.shift[1] },
            Op::Post(Post::ALL[self.post]),
            Op::Pool(Pool { h: pool_h, w: pool_w, stride_h, stride_w }),
            Op::LoadIfm { addr: 0 },
            Op::LoadKer { addr: 1 },
            Op::LoadBias { addr: 2 },
        ];
        for (index, &(addend, n)) in self.taps.iter().enumerate() {
            let addend = match addend {
                0 => Addend::Zero,
                1 => Addend::Bias,
                _ if index == 0 => Addend::Bias,
                _ => Addend::Ofm,
            };
            ops.push(Op::Conv { addend, h: n % 3, w: n / 2, n });
        }
        ops.extend([Op::Store { addr: 0 }, Op::Pad { addr: 0, p: 1 }]);
        ops
    }

    /// Returns the partial sums after every step, and the memory at the end.
    fn run(&self, arithmetic: Arithmetic) -> (Vec<Option<Elements>>, Vec<u8>, Vec<FaultKind>) {
        let mut machine = Machine::with_arithmetic(types(TYPES[self.types]), arithmetic);
        let bytes: Vec<u8> = self.bytes.iter().copied().cycle().take(1 << 17).collect();
        machine.write(0, &bytes).unwrap();
        let mut steps = Vec::new();
        let mut faults = Vec::new();
        for op in self.ops() {
            faults.extend(machine.step(&op).err());
            steps.push(machine.buffer(Buffer::Ofm).ok().map(|array| array.elements.clone()));
        }
        let mut memory = vec![0; 1 << 15];
        machine.read(1 << 28, &mut memory).unwrap();
        (steps, memory, faults)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn fast_code_computes_what_the_literal_code_does(tile in tile()) {
        prop_assert_eq!(tile.run(Arithmetic::Fast), tile.run(Arithmetic::Literal));
    }
}

/// Returns a machine with a tile of one pixel and one slice, with everything loaded.
fn loaded() -> Machine {
    let mut machine = Machine::new(Types::REFERENCE);
    for op in [
        Op::ShapeIfm(Shape { h: 1, w: 1, c: 16 }),
        Op::ShapeOfm(Shape { h: 1, w: 1, c: 16 }),
        Op::ShapeKer { n: 1 },
        Op::MemIfm { bank: 0, w: 1 },
        Op::MemKer { bank: 0 },
        Op::MemBias { bank: 0 },
        Op::MemOfm { bank: 0, h: 8, w: 8 },
        Op::Stride { h: 1, w: 1 },
        Op::Shift { ifm: 0, bias: 0 },
        Op::Post(Post::default()),
        Op::Pool(Pool::NONE),
        Op::LoadIfm { addr: 0 },
        Op::LoadKer { addr: 0 },
        Op::LoadBias { addr: 0 },
        Op::Conv { addend: Addend::Bias, h: 0, w: 0, n: 0 },
    ] {
        machine.step(&op).unwrap();
    }
    machine
}

#[test]
fn biases_survive_a_shape_with_as_many_channels() {
    let mut machine = loaded();
    machine.step(&Op::ShapeOfm(Shape { h: 1, w: 1, c: 16 })).unwrap();
    assert!(machine.buffer(Buffer::Bias).is_ok() && machine.buffer(Buffer::Ofm).is_err());
    machine.step(&Op::ShapeOfm(Shape { h: 1, w: 1, c: 32 })).unwrap();
    let fault = machine.buffer(Buffer::Bias).unwrap_err();
    assert_eq!(fault.to_string(), "the bias buffer is not valid: `@shape.ofm` changed its shape");
    assert_eq!(fault.hint(), "load it with `ld.bias`");
}

#[test]
fn partial_sums_survive_a_new_kernel_and_a_store() {
    let mut machine = loaded();
    machine.step(&Op::ShapeKer { n: 4 }).unwrap();
    machine.step(&Op::Store { addr: 4 }).unwrap();
    assert!(machine.buffer(Buffer::Ofm).is_ok() && machine.buffer(Buffer::Ker).is_err());
}

#[test]
fn words_written_over_are_fetched_as_they_are_then() {
    // The store writes zeros, which encode `end`, over the four invalid words after it.
    let mut machine = loaded();
    let [store, harmless] =
        [Op::Store { addr: 16 }, Op::ShapeKer { n: 1 }].map(|op| encode(&op, Validity::Corrected).unwrap());
    let words = [&[store][..], &[harmless; 15], &[0x3F; 4]].concat();
    let mut program = machine.load(1024 - 64, &words).unwrap();
    assert_eq!(machine.run(&mut program, &mut |_, _, _| ()).unwrap(), 16);
}

#[test]
fn programs_begin_at_multiples_of_64_and_end_in_memory() {
    let mut machine = loaded();
    let error = |result: Result<_, AccessError>| result.map(|_: Loaded| ()).unwrap_err().to_string();
    assert_eq!(
        error(machine.load(1020, &[0])),
        "a program begins at 0x3fc: legal addresses are multiples of 64"
    );
    assert!(error(machine.load((1 << 32) - 64, &[0; 17])).contains("beyond the memory"));
    let mut program = machine.load(64, &[]).unwrap();
    let fault = machine.run(&mut program, &mut |_, _, _| ()).unwrap_err();
    assert_eq!((fault.instruction, fault.kind), (0, FaultKind::MissingEnd { words: 0 }));
}

#[test]
fn a_border_as_wide_as_the_plane_clears_it_and_zero_clears_nothing() {
    let mut machine = loaded();
    let filled = vec![7; 8 * 8 * 64];
    machine.write(0, &filled).unwrap();
    let read = |machine: &Machine| {
        let mut bytes = vec![1; 8 * 8 * 64 + 64];
        machine.read(0, &mut bytes).unwrap();
        bytes
    };
    machine.step(&Op::Pad { addr: 0, p: 0 }).unwrap();
    assert_eq!(read(&machine)[..8 * 8 * 64], filled);
    machine.step(&Op::Pad { addr: 0, p: 3 }).unwrap();
    assert_eq!(read(&machine).iter().filter(|&&byte| byte == 7).count(), 2 * 2 * 64);
    machine.step(&Op::Pad { addr: 0, p: 8 }).unwrap();
    assert_eq!(read(&machine).iter().filter(|&&byte| byte != 0).count(), 0);
}

/// Returns a machine that is about to load a tile of 3 x 2 pixels and two slices of 16 channels
/// from the second bank.
fn about_to_load(names: [&str; 4]) -> Machine {
    let mut machine = Machine::new(types(names));
    for op in [
        Op::ShapeIfm(Shape { h: 3, w: 2, c: 16 }),
        Op::ShapeOfm(Shape { h: 1, w: 1, c: 16 }),
        Op::ShapeKer { n: 2 },
        Op::MemIfm { bank: 1, w: 3 },
        Op::MemKer { bank: 1 },
        Op::MemBias { bank: 1 },
    ] {
        machine.step(&op).unwrap();
    }
    machine
}

#[test]
fn what_is_no_finite_number_is_named_with_its_place() {
    let start = (1u64 << 28) + 4 * 64;
    // The element is row 2, column 1, channel 6. Rows are three slots of 64 elements apart.
    for (op, buffer, element, address) in [
        (Op::LoadIfm { addr: 4 }, Buffer::Ifm, (2 * 2 + 1) * 16 + 6, start + ((2 * 3 + 1) * 64 + 6) * 2),
        (Op::LoadKer { addr: 4 }, Buffer::Ker, 300, start + 300 * 2),
        (Op::LoadBias { addr: 4 }, Buffer::Bias, 7, start + 7 * 2),
    ] {
        let mut machine = about_to_load(["bf16", "bf16", "bf16", "fp32"]);
        machine.write(address, &0x7FC1u16.to_le_bytes()).unwrap();
        let expected = FaultKind::NonFinite { buffer, element, address, bits: 0x7FC1 };
        assert_eq!(machine.step(&op).unwrap_err(), expected);
    }
}

#[test]
fn transfers_end_with_the_memory() {
    let mut machine = about_to_load(["int32"; 4]);
    let last = 1 << 32;
    let slot = |channels| Op::ShapeIfm(Shape { h: 1, w: 1, c: channels });
    for op in [slot(16), Op::MemIfm { bank: 15, w: 1 }, Op::MemOfm { bank: 15, h: 1, w: 1 }] {
        machine.step(&op).unwrap();
    }
    let addr = (1 << 22) - 1;
    machine.step(&Op::LoadIfm { addr }).unwrap();
    machine.step(&slot(32)).unwrap();
    let beyond = |last| FaultKind::AddressRange { first: (1 << 32) - 64, last };
    assert_eq!(machine.step(&Op::LoadIfm { addr }).unwrap_err(), beyond(last + 63));
    // A border clears whole slots, each of 64 elements.
    assert_eq!(machine.step(&Op::Pad { addr, p: 1 }).unwrap_err(), beyond(last + 191));
    machine.step(&Op::Pad { addr: addr - 3, p: 1 }).unwrap();
}

#[test]
fn signed_fields_and_numbers_of_channels_keep_to_their_bits() {
    for (ifm, fits) in [(-129, false), (-128, true), (127, true), (128, false), (255, false)] {
        assert_eq!(encode(&Op::Shift { ifm, bias: 0 }, Validity::Corrected).is_ok(), fits, "{ifm}");
        assert_eq!(encode(&Op::Shift { ifm: 0, bias: ifm }, Validity::Corrected).is_ok(), fits, "{ifm}");
    }
    // A word can encode 2^40 channels, and the message must show this number.
    let word = encode(&Op::ShapeIfm(Shape { h: 2, w: 2, c: 16 }), Validity::Corrected).unwrap()
        & !(127 << 20)
        | 40 << 20;
    let fault = npukit_opu::decode(word, Validity::Corrected).unwrap_err();
    assert!(fault.to_string().contains("1099511627776"), "{fault}");
}

/// Whether `last` starts only when `first` is done, if loads and stores have separate ports.
fn waits(ops: &[Op], last: usize, first: usize) -> bool {
    let mut config = Config::preset("reference").unwrap();
    config.timing.port = Port::Split;
    config.types = types(["int32"; 4]);
    let mut slices = Vec::new();
    let mut watch = |slice: Slice| slices.extend((slice.engine != Engine::FrontEnd).then_some(slice));
    let mut clock = Clock::new(&config);
    ops.iter().for_each(|op| clock.push(op, &mut watch).unwrap());
    clock.finish(&mut watch);
    let slice = |instruction| slices.iter().find(|slice| slice.instruction == instruction).unwrap();
    slice(last).start >= slice(first).end
}

/// A border is written only after the bytes below it were read, however many loads were issued
/// since.
#[test]
fn memory_keeps_the_order_of_the_program() {
    let setup = [
        Op::ShapeIfm(Shape { h: 30, w: 30, c: 64 }),
        Op::ShapeOfm(Shape { h: 1, w: 1, c: 64 }),
        Op::ShapeKer { n: 9 },
        Op::MemIfm { bank: 0, w: 30 },
        Op::MemKer { bank: 0 },
        Op::MemBias { bank: 0 },
        Op::MemOfm { bank: 0, h: 1, w: 1 },
    ];
    // Bytes that each load reads if elements have four bytes. Addresses are in units of 64 bytes.
    for (load, bytes) in [
        (Op::LoadIfm { addr: 0 }, 30 * 30 * 256),
        (Op::LoadKer { addr: 0 }, 9 * 64 * 64 * 4),
        (Op::LoadBias { addr: 0 }, 64 * 4),
    ] {
        let behind = bytes / 64;
        for (addr, expected) in [(0, true), (behind - 1, true), (behind, false), (1 << 16, false)] {
            // The loads from far away are still in progress at the pad because they take longer.
            let pad = Op::Pad { addr, p: 1 };
            let far = Op::LoadIfm { addr: 1 << 20 };
            let program = [&setup[..], &[far, load, far, pad]].concat();
            assert_eq!(waits(&program, 10, 8), expected, "{} below {addr}", load.mnemonic());
            assert!(!waits(&program, 10, 9), "{}", load.mnemonic());
        }
        // A load of bytes below a border must wait until the border was written.
        for (addr, expected) in [(0, true), (1 << 16, false)] {
            let plane = [Op::MemOfm { bank: 0, h: 30, w: 30 }, Op::Pad { addr, p: 15 }, load];
            assert_eq!(waits(&[&setup[..], &plane].concat(), 9, 8), expected, "{}", load.mnemonic());
        }
    }
    // A border ends together with its plane, which has 7 rows of 5 slots.
    for (addr, expected) in [(7 * 5 * 4 - 1, true), (7 * 5 * 4, false)] {
        let plane = [Op::MemOfm { bank: 0, h: 7, w: 5 }, Op::Pad { addr: 0, p: 2 }, Op::LoadBias { addr }];
        assert_eq!(waits(&[&setup[..], &plane].concat(), 9, 8), expected, "{addr}");
    }
}

/// Engines report their waits, longest first, and only waits that took cycles.
#[test]
fn waits_are_those_that_took_cycles() {
    let mut clock = Clock::new(&Config::preset("reference").unwrap());
    let setup = [
        Op::ShapeIfm(Shape { h: 8, w: 8, c: 16 }),
        Op::ShapeOfm(Shape { h: 8, w: 8, c: 16 }),
        Op::ShapeKer { n: 1 },
        Op::MemIfm { bank: 0, w: 8 },
        Op::MemKer { bank: 1 },
        Op::LoadIfm { addr: 0 },
        Op::LoadKer { addr: 0 },
        Op::Conv { addend: Addend::Zero, h: 0, w: 0, n: 0 },
    ];
    setup.iter().for_each(|op| clock.push(op, &mut |_| ()).unwrap());
    let totals = clock.finish(&mut |_| ());
    assert!(!totals.waits(Engine::Multiply).is_empty());
    for engine in Engine::ALL {
        let cycles: Vec<u64> = totals.waits(engine).iter().map(|&(_, cycles)| cycles).collect();
        assert!(cycles.iter().all(|&cycles| cycles > 0), "{cycles:?}");
        assert!(cycles.is_sorted_by(|a, b| a >= b), "{cycles:?}");
    }
}

#[test]
fn every_word_leaves_the_machine_standing() {
    let mut machine = loaded();
    for seed in 0..20_000u32 {
        let word = seed.wrapping_mul(2_654_435_761).rotate_left(seed % 32);
        let opcode = [1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 22, 23, 24, 25, 26][seed as usize % 17];
        // Low fields are kept small, so that some words are legal.
        let word = word & 0x0FF1_C7C0 | opcode;
        if let Ok(op) = npukit_opu::decode(word, Validity::Corrected) {
            let _ = machine.step(&op);
        }
    }
}
