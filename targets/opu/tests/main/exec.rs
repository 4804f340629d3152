//! Bytes that instructions touch, and values that they compute, compared with the formulas of the
//! specification.

use npukit_opu::internals::array::{Array, Elements};
use npukit_opu::internals::exec::{step, store_result};
use npukit_opu::internals::lower::limits;
use npukit_opu::internals::memory::Memory;
use npukit_opu::internals::op::Order;
use npukit_opu::internals::state::State;
use npukit_opu::{
    Access, Activation, Addend, Arithmetic, Buffer, DataType, Extent, FaultKind, Machine, Numerics, Op, Pool,
    Post, Registers, Shape, Types, Validity,
};
use npukit_target::UninitMemory;

fn types([itype, btype, ktype, otype]: [&str; 4]) -> Types {
    let parse = |name: &str| name.parse::<DataType>().unwrap();
    Types { itype: parse(itype), btype: parse(btype), ktype: parse(ktype), otype: parse(otype) }
}

const fn shape([h, w, c]: [u32; 3]) -> Shape {
    Shape { h, w, c }
}

/// Registers, with each buffer in a separate bank.
struct Setup {
    types: [&'static str; 4],
    ifm: [u32; 3],
    ofm: [u32; 3],
    slices: u32,
    /// Slots between the starts of rows from which features are loaded.
    pitch: u32,
    /// Rows and columns of the plane that is stored to.
    plane: [u32; 2],
    pool: Pool,
    /// Rows and columns of the stored result.
    stored: [u32; 2],
}

#[rustfmt::skip] // A table: three lines per machine.
const SETUPS: [Setup; 3] = [
    // Full and partial slots, and rows with gaps.
    Setup { types: ["int8", "int16", "int8", "int16"], ifm: [2, 2, 64], ofm: [2, 2, 2], slices: 3, pitch: 3,
        plane: [6, 7], stored: [2, 2],
        pool: Pool::NONE },
    // Contiguous rows, and a row of overlapping windows.
    Setup { types: ["int16", "int32", "int8", "int16"], ifm: [2, 2, 16], ofm: [2, 2, 64], slices: 1, pitch: 2,
        plane: [5, 4], stored: [2, 1],
        pool: Pool { h: 1, w: 2, stride_h: 1, stride_w: 3 } },
    // Overlapping rows.
    Setup { types: ["int32", "int8", "int16", "int32"], ifm: [3, 2, 32], ofm: [3, 2, 8], slices: 2, pitch: 1,
        plane: [3, 1], stored: [2, 2],
        pool: Pool { h: 2, w: 1, stride_h: 1, stride_w: 1 } },
];

impl Setup {
    /// Returns a machine with these registers and full buffers.
    fn machine(&self) -> Machine {
        let mut machine = Machine::new(types(self.types));
        let [h, w] = self.plane;
        for op in [
            Op::ShapeIfm(shape(self.ifm)),
            Op::ShapeOfm(shape(self.ofm)),
            Op::ShapeKer { n: self.slices },
            Op::MemIfm { bank: 1, w: self.pitch },
            Op::MemKer { bank: 2 },
            Op::MemBias { bank: 3 },
            Op::MemOfm { bank: 4, h, w },
            Op::Stride { h: 1, w: 1 },
            Op::Shift { ifm: 0, bias: 0 },
            Op::Post(Post::default()),
            Op::Pool(self.pool),
            Op::LoadIfm { addr: 0 },
            Op::LoadKer { addr: 0 },
            Op::LoadBias { addr: 0 },
            Op::Conv { addend: Addend::Bias, h: 0, w: 0, n: 0 },
        ] {
            machine.step(&op).unwrap();
        }
        machine
    }

    /// Returns the bytes that an instruction touches, in order: sections 4.2, 4.7 and 4.8,
    /// literally.
    fn touched(&self, op: &Op) -> Vec<u64> {
        let [itype, btype, ktype, _] =
            self.types.map(|name| u64::from(name.parse::<DataType>().unwrap().size_bytes()));
        let base = |bank: u64, addr: u32| (bank << 28) + u64::from(addr) * 64;
        let slots = |base: u64, [h, w, c]: [u32; 3], pitch: u32| {
            let pixels = (0..h).flat_map(move |y| (0..w).map(move |x| u64::from(y * pitch + x)));
            pixels
                .flat_map(|slot| (0..u64::from(c) * itype).map(move |byte| base + slot * 64 * itype + byte))
                .collect::<Vec<_>>()
        };
        let [_, _, ifm_c] = self.ifm;
        let [_, _, ofm_c] = self.ofm;
        match *op {
            Op::LoadIfm { addr } => slots(base(1, addr), self.ifm, self.pitch),
            Op::LoadKer { addr } => {
                (0..u64::from(self.slices * ofm_c * ifm_c) * ktype).map(|byte| base(2, addr) + byte).collect()
            }
            Op::LoadBias { addr } => (0..u64::from(ofm_c) * btype).map(|byte| base(3, addr) + byte).collect(),
            Op::Store { addr } => {
                let [h, w] = self.stored;
                slots(base(4, addr), [h, w, ofm_c], self.plane[1])
            }
            Op::Pad { addr, p } => {
                let [h, w] = self.plane;
                let border = |y: u32, x: u32| y < p || y >= h - p || x < p || x >= w - p;
                let pixels = (0..h).flat_map(|y| (0..w).map(move |x| (y, x)));
                pixels
                    .filter(|&(y, x)| border(y, x))
                    .flat_map(|(y, x)| {
                        slots(base(4, addr) + u64::from(y * w + x) * 64 * itype, [1, 1, 64], 1)
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the bytes of memory within `within` that affect the result of a load.
fn read(machine: &mut Machine, op: &Op, buffer: Buffer, within: std::ops::Range<u64>) -> Vec<u64> {
    machine.step(op).unwrap();
    let before = machine.buffer(buffer).unwrap().clone();
    let depends = |byte: &u64| {
        machine.write(*byte, &[0xFF]).unwrap();
        machine.step(op).unwrap();
        let differs = *machine.buffer(buffer).unwrap() != before;
        machine.write(*byte, &[0]).unwrap();
        differs
    };
    within.filter(depends).collect()
}

/// Returns the bytes of memory within `within` that are the same afterwards for any previous
/// contents.
fn written(machine: &Machine, op: &Op, within: std::ops::Range<u64>) -> Vec<u64> {
    let [a, b] = [0x55, 0xAA].map(|filling| {
        let mut machine = machine.clone();
        let mut bytes = vec![filling; (within.end - within.start) as usize];
        machine.write(within.start, &bytes).unwrap();
        machine.step(op).unwrap();
        machine.read(within.start, &mut bytes).unwrap();
        bytes
    });
    within.zip(a.into_iter().zip(b)).filter(|(_, (a, b))| a == b).map(|(byte, _)| byte).collect()
}

/// Returns the memory access that an instruction declares.
fn memory(machine: &Machine, op: &Op) -> Access {
    op.effects(machine.registers(), machine.types(), Validity::Corrected).unwrap().memory
}

#[test]
fn bytes_said_to_be_touched_are_those_that_are_touched() {
    for setup in &SETUPS {
        let mut machine = setup.machine();
        let least = setup.plane[0].min(setup.plane[1]);
        let loads = [
            (Op::LoadIfm { addr: 5 }, Some(Buffer::Ifm)),
            (Op::LoadKer { addr: 5 }, Some(Buffer::Ker)),
            (Op::LoadBias { addr: 5 }, Some(Buffer::Bias)),
            (Op::Store { addr: 5 }, None),
        ];
        let pads = (0..=least).map(|p| (Op::Pad { addr: 7, p }, None));
        for (op, buffer) in loads.into_iter().chain(pads) {
            let expected = setup.touched(&op);
            let memory = memory(&machine, &op);
            let all = memory.extent();
            let ends = expected.iter().min().zip(expected.iter().max());
            assert_eq!(all, ends.map(|(&first, &last)| Extent { first, end: last + 1 }), "{op:?}");
            assert!(memory.runs().all(|run| run.bytes() > 0), "{op:?}");
            let bytes: Vec<u64> = memory.runs().flat_map(|run| run.first..run.end).collect();
            assert!(bytes == expected, "{op:?} of {:?}", setup.types);
            let Some(Extent { first, end }) = all else { continue };
            let within = first - 64..end + 64;
            let found = match buffer {
                Some(buffer) => read(&mut machine, &op, buffer, within),
                None => written(&machine, &op, within),
            };
            let mut expected = expected;
            expected.sort_unstable();
            expected.dedup();
            assert!(found == expected, "{op:?} of {:?}", setup.types);
        }
    }
}

#[test]
fn nothing_is_touched_without_registers_or_by_other_instructions() {
    let machine = SETUPS[0].machine();
    let reset = Registers::default();
    for op in [
        Op::LoadIfm { addr: 0 },
        Op::LoadKer { addr: 0 },
        Op::LoadBias { addr: 0 },
        Op::Store { addr: 0 },
        Op::Pad { addr: 0, p: 1 },
    ] {
        let fault = op.effects(&reset, machine.types(), Validity::Corrected).unwrap_err();
        assert_eq!(fault.name(), "undefined-register");
    }
    for op in [Op::End, Op::ShapeKer { n: 1 }, Op::Conv { addend: Addend::Zero, h: 0, w: 0, n: 0 }] {
        assert_eq!((memory(&machine, &op).extent(), memory(&machine, &op).runs().count()), (None, 0));
    }
}

/// Generator of pseudo-random bits.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Returns raw values of a fixed-point type; every fourth is a limit of its range, or next to
    /// it.
    fn array(&mut self, data_type: DataType, shape: &[usize]) -> Array {
        let fixed = data_type.fixed().unwrap();
        let mut elements = Elements::zeros(data_type, shape.iter().product());
        for index in 0..elements.len() {
            let value = match self.next() % 16 {
                0 | 1 => fixed.min(),
                2 => fixed.max(),
                3 => fixed.max() - 1,
                _ => data_type.raw(self.next()).unwrap(),
            };
            elements.set(index, value);
        }
        Array { data_type, shape: shape.to_vec(), elements }
    }
}

fn done(state: &mut State, types: &Types, arithmetic: Arithmetic, op: &Op) -> Result<(), FaultKind> {
    step(
        state,
        &mut Memory::new(UninitMemory::Zero),
        Numerics { types, arithmetic, validity: Validity::Corrected },
        op,
    )
}

#[test]
fn fast_sums_are_the_literal_ones_wherever_shifts_lead() {
    let mut bits = Bits(1);
    let shifts = [-70, -61, -60, -31, -30, -12, -4, -3, -1, 0, 1, 2, 4, 9, 10, 20, 60, 61];
    for names in [
        ["int8", "int16", "int8", "int16"],
        ["fx8_5", "fx16_10", "fx8_7", "fx16_9"],
        ["fx6_3", "fx12_8", "fx4_3", "fx14_6"],
        ["fx16_3", "fx24_7", "fx12_m2", "fx28_9"],
        ["int29", "int32", "int28", "int32"],
        ["int29", "int32", "int29", "int32"],
        ["int32", "int32", "int32", "int32"],
    ] {
        let types = types(names);
        let mut state = State::default();
        for op in [
            Op::ShapeIfm(shape([3, 3, 16])),
            Op::ShapeOfm(shape([2, 1, 4])),
            Op::ShapeKer { n: 2 },
            Op::Stride { h: 1, w: 2 },
        ] {
            done(&mut state, &types, Arithmetic::Fast, &op).unwrap();
        }
        state.ifm.fill(bits.array(types.itype, &[3, 3, 16]));
        state.ker.fill(bits.array(types.ktype, &[2, 4, 16]));
        state.bias.fill(bits.array(types.btype, &[4]));
        let sums = bits.array(types.otype, &[2, 1, 4]);
        for (ifm, bias) in shifts.iter().flat_map(|&ifm| shifts.map(|bias| (ifm, bias))) {
            for addend in [Addend::Zero, Addend::Bias, Addend::Ofm] {
                let [fast, literal] = [Arithmetic::Fast, Arithmetic::Literal].map(|arithmetic| {
                    let mut state = state.clone();
                    state.ofm.fill(sums.clone());
                    for op in [Op::Shift { ifm, bias }, Op::Conv { addend, h: 1, w: 2, n: 1 }] {
                        done(&mut state, &types, arithmetic, &op).unwrap();
                    }
                    state.ofm.get().unwrap().clone()
                });
                assert_eq!(fast, literal, "{names:?} {addend:?} by {ifm} and {bias}");
            }
        }
    }
}

/// Returns a machine that is about to store sums of that shape, with features to add to them.
fn about_to_store(types: &Types, ofm: Array, ifm: Array, post: Post, pool: Pool) -> State {
    let mut state = State::default();
    let sizes = |array: &Array| shape([0, 1, 2].map(|axis| array.shape[axis] as u32));
    for op in [
        Op::ShapeIfm(sizes(&ifm)),
        Op::ShapeOfm(sizes(&ofm)),
        Op::MemOfm { bank: 0, h: 16, w: 16 },
        Op::Post(post),
        Op::Pool(pool),
    ] {
        done(&mut state, types, Arithmetic::Fast, &op).unwrap();
    }
    state.ifm.fill(ifm);
    state.ofm.fill(ofm);
    state
}

/// Returns the result of a store of sums `[5, 4, 2]` according to sections 4.5 and 4.6, and the
/// number of saturated sums.
fn stored(types: &Types, ofm: &Array, ifm: &Array, post: Post, pool: Pool) -> (Vec<i32>, u64) {
    let [itype, otype] = [types.itype, types.otype].map(|data_type| data_type.fixed().unwrap());
    let limited = |value: f64| value.clamp(itype.min().into(), itype.max().into());
    let scale = 2f64.powi(itype.width() as i32 - otype.width() as i32);
    let cast = |index: usize| (f64::from(ofm.elements.get(index)) * scale + 0.5).floor();
    let is_saturated = |&index: &usize| {
        let raw = ofm.elements.get(index);
        raw == otype.min() || raw == otype.max() || cast(index) > itype.max().into()
    };
    let count = (0..ofm.elements.len()).filter(is_saturated).count();

    type Values = std::collections::BTreeMap<[usize; 3], f64>;
    let place = |index: usize| [index / 8, index / 2 % 4, index % 2];
    let mut values: Values = (0..40).map(|index| (place(index), limited(cast(index)))).collect();
    let act = |values: &mut Values| {
        values.values_mut().for_each(|value| match post.act {
            Activation::None => {}
            Activation::Relu => *value = value.max(0.0),
            Activation::Leaky => *value = value.max((*value / 8.0 + 0.5).floor()),
        });
    };
    let res = |values: &mut Values| {
        let add = |(&[y, x, k], value): (&[usize; 3], &mut f64)| {
            let [_, w, c] = ifm.shape[..] else { panic!("an image") };
            *value = limited(*value + f64::from(ifm.elements.get((y * w + x) * c + k)));
        };
        values.iter_mut().filter(|_| post.res).for_each(add);
    };
    let pooled = |values: &mut Values| {
        let [h, w, by_h, by_w] = [pool.h, pool.w, pool.stride_h, pool.stride_w].map(|size| size as usize);
        let all = std::mem::take(values);
        for [i, j, k] in all.keys().copied() {
            let window = || (0..h).flat_map(|a| (0..w).map(move |b| [i * by_h + a, j * by_w + b, k]));
            let found: Option<Vec<f64>> = window().map(|at| all.get(&at).copied()).collect();
            values.extend(found.map(|found| ([i, j, k], found.into_iter().fold(f64::MIN, f64::max))));
        }
    };
    let steps: [&dyn Fn(&mut Values); 3] = match post.order {
        Order::ActResPool => [&act, &res, &pooled],
        Order::ResActPool => [&res, &act, &pooled],
        Order::ActPoolRes => [&act, &pooled, &res],
    };
    steps.into_iter().for_each(|step| step(&mut values));
    (values.into_values().map(|value| value as i32).collect(), count as u64)
}

#[test]
fn stores_are_what_the_specification_says_in_every_form() {
    let mut bits = Bits(2);
    let pool = |h, w, stride_h, stride_w| Pool { h, w, stride_h, stride_w };
    for [itype, otype] in [
        ["int8", "int16"],
        ["int8", "int8"],
        ["int16", "int8"],
        ["int16", "int32"],
        ["int32", "int32"],
        ["int32", "int2"],
        ["fx7_5", "fx16_9"],
    ] {
        let types = types([itype, "int16", "int8", otype]);
        for (post, pool) in Post::ALL.into_iter().flat_map(|post| {
            [Pool::NONE, pool(2, 2, 2, 2), pool(3, 1, 1, 2), pool(5, 4, 3, 1)].map(|pool| (post, pool))
        }) {
            let (ofm, ifm) = (bits.array(types.otype, &[5, 4, 2]), bits.array(types.itype, &[6, 5, 16]));
            let (expected, saturated) = stored(&types, &ofm, &ifm, post, pool);
            for arithmetic in [Arithmetic::Fast, Arithmetic::Literal] {
                let mut state = about_to_store(&types, ofm.clone(), ifm.clone(), post, pool);
                let found = store_result(
                    &state,
                    Numerics { types: &types, arithmetic, validity: Validity::Corrected },
                )
                .unwrap();
                let found: Vec<i32> = (0..found.elements.len()).map(|i| found.elements.get(i)).collect();
                assert_eq!(found, expected, "{itype} from {otype}, {post:?}, {pool:?}");
                done(&mut state, &types, arithmetic, &Op::Store { addr: 0 }).unwrap();
                assert_eq!(state.saturated, saturated, "{itype} from {otype}");
            }
        }
    }
}

#[test]
fn sums_that_their_type_or_that_of_results_cannot_hold_count_as_saturated() {
    let floats = [-1e60, 1e60, 0.0, 1.0, 1e60, -1.0, 2.0, 3.0];
    // From 32639.5 / 256 upward, values are rounded to 128, which exceeds a byte.
    let integers = [-32768.0, 32767.0, 32640.0, 32639.0, -32767.0, -32640.0, 127.0, 0.0];
    for ([itype, otype], values) in [
        (["fp16", "fp16"], floats),
        (["bf16", "bf16"], floats),
        (["bf16", "fp32"], floats),
        (["int8", "fp16"], floats),
        (["bf16", "int16"], floats),
        (["int8", "int16"], integers),
    ] {
        let types = types([itype, "int16", "int8", otype]);
        let mut elements = Elements::zeros(types.otype, 8);
        for (index, value) in values.into_iter().enumerate() {
            elements.set(index, types.otype.from_f64(value));
        }
        let ofm = Array { data_type: types.otype, shape: vec![2, 2, 2], elements };
        let ifm = Array::without_elements(types.itype, vec![2, 2, 16]);
        let mut state = about_to_store(&types, ofm, ifm, Post::default(), Pool::NONE);
        done(&mut state, &types, Arithmetic::Fast, &Op::Store { addr: 0 }).unwrap();
        assert_eq!(state.saturated, 3, "{itype} from {otype}");
    }
}

#[test]
fn residuals_cover_what_they_are_added_to() {
    let pool = Pool { h: 2, w: 2, stride_h: 2, stride_w: 2 };
    let sums = [4, 6, 32];
    // The residual is added before the pooling to [4, 6, 32], or after it to [2, 3, 32].
    for (order, needed, shapes) in [
        (Order::ActResPool, sums, [[4, 6, 32], [5, 7, 64], [3, 6, 32], [4, 5, 32], [4, 6, 16]]),
        (Order::ResActPool, sums, [[4, 6, 32], [5, 7, 64], [3, 6, 32], [4, 5, 32], [4, 6, 16]]),
        (Order::ActPoolRes, [2, 3, 32], [[2, 3, 32], [4, 6, 64], [1, 3, 32], [2, 2, 32], [2, 3, 16]]),
    ] {
        for (index, ifm) in shapes.into_iter().enumerate() {
            let types = Types::REFERENCE;
            let zeros = |data_type, sizes: [u32; 3]| {
                let sizes = sizes.map(|size| size as usize);
                let elements = Elements::zeros(data_type, sizes.iter().product());
                Array { data_type, shape: sizes.to_vec(), elements }
            };
            let (ofm, operand) = (zeros(types.otype, sums), zeros(types.itype, ifm));
            let post = Post { act: Activation::Relu, order, res: true };
            let mut state = about_to_store(&types, ofm, operand, post, pool);
            let fault = FaultKind::ResidualShape { ifm: shape(ifm), needed: shape(needed) };
            let expected = if index < 2 { Ok(()) } else { Err(fault) };
            assert_eq!(done(&mut state, &types, Arithmetic::Fast, &Op::Store { addr: 0 }), expected);
        }
    }
}

#[test]
fn the_kernel_buffer_holds_as_many_slices_as_the_table_says() {
    for (ifm_c, ofm_c, largest) in
        [(16, 2, 36), (16, 64, 36), (32, 32, 36), (32, 64, 18), (64, 16, 36), (64, 32, 18), (64, 64, 9)]
    {
        for n in [largest, largest + 1].into_iter().filter(|&n| n <= 36) {
            let mut machine = Machine::new(Types::REFERENCE);
            for op in [
                Op::ShapeIfm(shape([1, 1, ifm_c])),
                Op::ShapeOfm(shape([1, 1, ofm_c])),
                Op::ShapeKer { n },
                Op::MemKer { bank: 0 },
            ] {
                machine.step(&op).unwrap();
            }
            let fault = FaultKind::KerCapacity { n, ofm_c, ifm_c, largest };
            let expected = if n == largest { Ok(()) } else { Err(fault) };
            assert_eq!(machine.step(&Op::LoadKer { addr: 0 }), expected, "{ifm_c} to {ofm_c}");
        }
        assert_eq!(limits::slices(ifm_c as usize, ofm_c as usize), largest as usize);
    }
}

/// Full slots are contiguous: a row of them is one run.
#[test]
fn full_slots_of_a_row_are_one_run() {
    let machine = SETUPS[0].machine();
    let load = Op::LoadIfm { addr: 0 };
    let first = 1 << 28;
    let runs: Vec<_> = memory(&machine, &load).runs().map(|run| (run.first, run.bytes())).collect();
    assert_eq!(runs, [(first, 128), (first + 3 * 64, 128)]);
}

/// Only the first channels of a slot are read: each of their bytes must have been written, and no
/// other.
#[test]
fn features_are_read_as_far_as_their_channels_reach() {
    for (name, channels) in
        [("int8", 16), ("int16", 64), ("int16", 32), ("int16", 16), ("int32", 16), ("int32", 32)]
    {
        let size = u64::from(name.parse::<DataType>().unwrap().size_bytes());
        let (slot, used) = (64 * size, u64::from(channels) * size);
        let loaded = |missing: Option<u64>| {
            let mut machine = Machine::with_memory(types([name; 4]), UninitMemory::Poison);
            for op in [Op::ShapeIfm(shape([2, 2, channels])), Op::MemIfm { bank: 1, w: 3 }] {
                machine.step(&op).unwrap();
            }
            let first = 1 << 28;
            for pixel in [0, 1, 3, 4] {
                let bytes = first + pixel * slot..first + pixel * slot + used;
                bytes
                    .filter(|&byte| Some(byte) != missing)
                    .for_each(|byte| machine.write(byte, &[1]).unwrap());
            }
            machine.step(&Op::LoadIfm { addr: 0 })
        };
        assert_eq!(loaded(None), Ok(()), "{name} x {channels}");
        for byte in [0, used - 1, slot, 4 * slot + used / 2, 4 * slot + used - 1].map(|byte| (1 << 28) + byte)
        {
            let fault = FaultKind::Unwritten { buffer: Buffer::Ifm, address: byte };
            assert_eq!(loaded(Some(byte)), Err(fault), "{name} x {channels}");
        }
    }
}
