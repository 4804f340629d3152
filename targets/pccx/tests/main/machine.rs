//! The machine: faults of instructions, data that they leave unchanged, and each function over all
//! BF16 values.

use std::sync::Arc;

use npukit_pccx::internals::bf16::{NAN, bf_of_double, val};
use npukit_pccx::internals::fault::Direction;
use npukit_pccx::internals::op::{
    Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape,
};
use npukit_pccx::{Config, Machine, WeightImage, evaluate};
use proptest::prelude::*;

const L2: u32 = 114_688;

fn machine() -> Machine {
    Machine::new(&Config::preset("extended").unwrap()).unwrap()
}

fn set(machine: &mut Machine, dest_cache: Cache, dest_addr: u8, [x, y, z]: [u16; 3]) {
    machine.step(&Op::Memset(Memset { dest_cache, dest_addr, shape: Shape::new(x, y, z) })).unwrap();
}

/// Returns a machine with fmap[1] = (1, 1, 3), weight[1] = (0, 2, 3), and weights of that size
/// without scales.
fn ready() -> Machine {
    let mut machine = machine();
    set(&mut machine, Cache::FmapShape, 1, [1, 1, 3]);
    set(&mut machine, Cache::WeightShape, 1, [0, 2, 3]);
    machine.bind_weights(Arc::new(WeightImage::new(2, 3, &[1, 0, 0, 0, 1, 0], None).unwrap()));
    machine
}

const MAC: Mac = Mac {
    dest_reg: 8,
    src_addr: 0,
    flags: MacFlags { findemax: false, accm: false, w_scale: false },
    size_ptr_addr: 1,
    shape_ptr_addr: 1,
    parallel_lane: 0,
};

fn kind(machine: &mut Machine, op: Op) -> &'static str {
    match machine.step(&op) {
        Ok(()) => "none",
        Err(fault) => fault.kind(),
    }
}

#[test]
fn every_error_of_the_document() {
    let gemv = |mac: Mac| kind(&mut ready(), Op::Gemv(mac));
    assert_eq!(gemv(MAC), "none");
    assert_eq!(gemv(Mac { dest_reg: L2 - 1, ..MAC }), "none");
    assert_eq!(gemv(Mac { dest_reg: L2, ..MAC }), "l2_range");
    assert_eq!(gemv(Mac { src_addr: L2, ..MAC }), "l2_range");
    assert_eq!(gemv(Mac { shape_ptr_addr: 9, ..MAC }), "shape_zero");
    assert_eq!(gemv(Mac { size_ptr_addr: 9, ..MAC }), "shape_zero");
    assert_eq!(gemv(Mac { flags: MacFlags { w_scale: true, ..MAC.flags }, ..MAC }), "no_scale");
    for (shape, expected) in [
        ([1, 1, 4], "shape_mismatch"),
        ([2, 1, 3], "shape_mismatch"),
        ([1, 3, 1], "shape_mismatch"),
        ([1024, 1024, 1], "shape_overflow"),
    ] {
        let mut machine = ready();
        set(&mut machine, Cache::FmapShape, 1, shape);
        assert_eq!(kind(&mut machine, Op::Gemv(MAC)), expected, "{shape:?}");
    }
    let mut machine = ready();
    set(&mut machine, Cache::WeightShape, 1, [0, 5, 3]);
    assert_eq!(kind(&mut machine, Op::Gemm(MAC)), "weight_mismatch");
    let mut machine = ready();
    assert_eq!((kind(&mut machine, Op::Gemm(MAC)), kind(&mut machine, Op::Gemm(MAC))), ("none", "no_weight"));
}

#[test]
fn errors_of_functions_and_transfers() {
    let cvo = Cvo { cvo_func: CvoFunc::Scale, src_addr: 0, dst_addr: 8, length: 8, ..Cvo::default() };
    let of = |cvo| kind(&mut machine(), Op::Cvo(cvo));
    assert_eq!((of(cvo), of(Cvo { length: 0, ..cvo })), ("none", "length_zero"));
    assert_eq!(of(Cvo { src_addr: L2 - 1, ..cvo }), "l2_range", "the vector follows the scalar");
    assert_eq!(of(Cvo { src_addr: L2 - 2, ..cvo }), "none");
    assert_eq!(of(Cvo { dst_addr: L2, ..cvo }), "l2_range");
    let moved = |from_device, to_device, aux_addr| {
        let mut machine = ready();
        machine.bind_window(Direction::HostToL2, 0, vec![7; 32]).unwrap();
        kind(
            &mut machine,
            Op::Memcpy(Memcpy { from_device, to_device, aux_addr, shape_ptr_addr: 1, ..Memcpy::default() }),
        )
    };
    assert_eq!(moved(Device::Host, Device::Npu, 1), "none");
    assert_eq!(moved(Device::Host, Device::Npu, 2), "host_range");
    assert_eq!(moved(Device::Npu, Device::Host, 0), "host_range", "that window is not bound");
    assert_eq!(moved(Device::Host, Device::Host, 0), "bad_direction");
    assert_eq!(moved(Device::Npu, Device::Npu, 0), "none");
}

#[test]
fn a_fault_changes_nothing_and_says_where() {
    let mut machine = ready();
    let before = format!("{machine:?}");
    let program = [Op::Kick, Op::Gemv(Mac { dest_reg: L2, ..MAC })];
    let fault = machine.run(&program, &mut |_| ()).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "instruction 1: `dest_reg`: 1 words at 0x1c000 end beyond L2, which has 114688 words"
    );
    assert_eq!(format!("{machine:?}"), before);
}

#[test]
fn tails_stay_and_special_rows_are_not_numbers() {
    let mut machine = ready();
    machine.write_l2(0, &[0x3F80, 0x7F80, 0x4000]).unwrap();
    machine.write_l2(8, &[9; 8]).unwrap();
    let find = Mac { flags: MacFlags { findemax: true, ..MAC.flags }, ..MAC };
    machine.step(&Op::Gemv(find)).unwrap();
    assert_eq!(machine.read_l2(8, 8).unwrap(), [NAN, NAN, 9, 9, 9, 9, 9, 9]);
    assert_eq!(machine.e_max(), NAN, "all results are NaN");
}

/// Adding a product with zeros changes no value, and finds the maximum of all.
#[test]
fn zeros_find_a_maximum() {
    let mut machine = machine();
    set(&mut machine, Cache::FmapShape, 1, [4, 1, 1]);
    set(&mut machine, Cache::WeightShape, 1, [0, 4, 1]);
    machine.bind_weights(Arc::new(WeightImage::zeros(4, 1).unwrap().with_scales(vec![0.0; 4])));
    let mut values: Vec<u16> = (0..16).map(|index| 0xC000 + index).collect();
    values[9] = 0xBF80;
    machine.write_l2(0, &[0; 4]).unwrap();
    machine.write_l2(8, &values).unwrap();
    let flags = MacFlags { findemax: true, accm: true, w_scale: true };
    machine.step(&Op::Gemm(Mac { flags, ..MAC })).unwrap();
    assert_eq!(machine.read_l2(8, 16).unwrap(), &values[..]);
    assert_eq!(machine.e_max(), 0xBF80);
}

#[test]
fn copies_within_l2_may_overlap() {
    let mut machine = machine();
    set(&mut machine, Cache::FmapShape, 0, [1, 1, 24]);
    let values: Vec<u16> = (0..32).collect();
    machine.write_l2(0, &values).unwrap();
    machine.step(&Op::Memcpy(Memcpy { src_addr: 0, dest_addr: 1, ..Memcpy::default() })).unwrap();
    assert_eq!(machine.read_l2(1, 24).unwrap(), &values[..24]);
}

#[test]
fn extensions_compute_what_their_names_say() {
    let mut machine = machine();
    let run = |machine: &mut Machine, cvo_func| {
        machine.write_l2(0, &[0x4040, 0xC000, 0x8000, 0x7FC1]).unwrap();
        machine.write_l2(1, &[0x4000, 0x4000, 0x4000, 0x4000]).unwrap();
        machine.step(&Op::Cvo(Cvo { cvo_func, dst_addr: 1, length: 4, ..Cvo::default() })).unwrap();
        machine.read_l2(1, 4).unwrap().to_vec()
    };
    assert_eq!(run(&mut machine, CvoFunc::Mul), [0x40C0, 0xC080, 0x8000, NAN]);
    assert_eq!(run(&mut machine, CvoFunc::Relu), [0x4040, 0, 0, NAN]);
    assert_eq!(
        run(&mut machine, CvoFunc::Tanh),
        [bf_of_double(3.0_f64.tanh()), bf_of_double((-2.0_f64).tanh()), 0x8000, NAN]
    );
}

/// A double is within about one ulp of the real value. If it is farther than that from every tie,
/// rounding it gives the nearest BF16; otherwise the result must be exact.
#[test]
fn every_function_of_every_bf16_is_correctly_rounded() {
    use CvoFunc::{Cos, Exp, Gelu, Recip, Sin, Sqrt, Tanh};
    for function in [Exp, Sqrt, Gelu, Sin, Cos, Recip, Tanh] {
        for bits in 0..=u16::MAX {
            let y = evaluate(function, val(bits).into());
            if !y.is_finite() || y == 0.0 {
                continue;
            }
            // GELU needs a few operations, each with an error of half an ulp, plus the error of the
            // exponential's argument.
            let slack = y.abs() * 2e-14 * if function == Gelu { 1.0 + val(bits).abs() as f64 } else { 1.0 };
            let (below, above) = (bf_of_double(y - slack), bf_of_double(y + slack));
            // Near the smallest numbers, GELU is half of its argument in any precision below 40
            // digits.
            let half = function == Gelu && y == f64::from(val(bits)) / 2.0;
            let exact = half || f64::from(val(bf_of_double(y))) == y;
            assert!(below == above || exact, "{} of {bits:04x}: {below:04x} or {above:04x}", function.name());
        }
    }
}

#[test]
fn the_circuits_profile_computes_what_they_do() {
    let mut machine = Machine::new(&Config::preset("upstream").unwrap()).unwrap();
    machine.write_l2(2, &[0x3F80; 8]).unwrap();
    let cvo =
        |cvo_func, length| Op::Cvo(Cvo { cvo_func, src_addr: 16, dst_addr: 24, length, ..Cvo::default() });
    machine.step(&cvo(CvoFunc::ReduceSum, 2)).unwrap();
    assert_eq!(machine.read_l2(3, 1).unwrap(), [0x3FC0], "1 + 1 is 1.5 there, and addresses count elements");
    machine.step(&cvo(CvoFunc::Exp, 1)).unwrap();
    assert_eq!(machine.read_l2(3, 1).unwrap(), [0x3F80], "e is 1 there");
    assert_eq!(kind(&mut machine, cvo(CvoFunc::Gelu, 1)), "upstream_undefined");
    assert_eq!(kind(&mut machine, Op::Gemv(MAC)), "upstream_undefined");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any words, the machine gives a result: nothing panics, and the same program gives the
    /// same state.
    #[test]
    fn any_words_run_or_fault(words in prop::collection::vec((0_u64..5, any::<u64>()), 1..40), small: bool) {
        let codec = npukit_pccx::Codec { extensions: true, strict: false };
        let run = || {
            let mut machine = ready();
            machine.bind_window(Direction::HostToL2, 0, vec![3; 4096]).unwrap();
            let mut faults = 0;
            for &(opcode, body) in &words {
                // Small addresses and shapes refer to existing data.
                let body = if small { body & 0x0018_0401_80c0_218f } else { body >> 4 };
                faults += usize::from(machine.step(&codec.decode_lenient(opcode << 60 | body)).is_err());
            }
            (faults, machine.read_l2(0, 512).unwrap().to_vec(), machine.e_max())
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn sub_emax_and_accm_apply_to_any_function() {
    let mut machine = machine();
    machine.set_e_max(0x3F80);
    machine.write_l2(0, &[0x4000, 0x4040]).unwrap();
    machine.write_l2(1, &[0x3F80]).unwrap();
    let flags = CvoFlags { sub_emax: true, accm: true, ..CvoFlags::default() };
    let sum = Cvo { cvo_func: CvoFunc::ReduceSum, dst_addr: 1, length: 2, flags, ..Cvo::default() };
    machine.step(&Op::Cvo(sum)).unwrap();
    assert_eq!(machine.read_l2(1, 1).unwrap(), [0x4080], "1 + (2 - 1) + (3 - 1)");
}

#[test]
fn every_function_adds_to_the_destination() {
    use CvoFunc::{Cos, Exp, Gelu, Mul, Recip, ReduceSum, Relu, Scale, Sin, Sqrt, Tanh};
    // For each function: operand, and the function's value plus 2. For SCALE, the factor is 3.
    for (cvo_func, x, expected) in [
        (Exp, 0.0, 3.0),
        (Sqrt, 4.0, 4.0),
        (Gelu, 0.0, 2.0),
        (Sin, 0.0, 2.0),
        (Cos, 0.0, 3.0),
        (ReduceSum, -5.0, -3.0),
        (Scale, 4.0, 14.0),
        (Recip, 2.0, 2.5),
        (Mul, 3.0, 8.0),
        (Relu, 7.0, 9.0),
        (Tanh, 0.0, 2.0),
    ] {
        let mut machine = machine();
        let vector = u32::from(cvo_func == Scale);
        machine.write_l2(0, &[bf_of_double(3.0)]).unwrap();
        machine.write_l2(vector, &[bf_of_double(x)]).unwrap();
        machine.write_l2(9, &[bf_of_double(2.0), 7]).unwrap();
        let flags = CvoFlags { accm: true, ..CvoFlags::default() };
        machine.step(&Op::Cvo(Cvo { cvo_func, dst_addr: 9, length: 1, flags, ..Cvo::default() })).unwrap();
        assert_eq!(machine.read_l2(9, 2).unwrap(), [bf_of_double(expected), 7], "{}", cvo_func.name());
    }
}

/// Four rows of 16 values are 8 words; rows of 24 results are 12.
#[test]
fn products_take_and_fill_all_rows() {
    let product = |src_addr, dest_reg| {
        let mut machine = machine();
        set(&mut machine, Cache::FmapShape, 1, [4, 1, 16]);
        set(&mut machine, Cache::WeightShape, 1, [0, 24, 16]);
        machine.bind_weights(Arc::new(WeightImage::new(24, 16, &[1; 24 * 16], None).unwrap()));
        machine.step(&Op::Gemm(Mac { src_addr, dest_reg, ..MAC })).map_err(|fault| fault.to_string())
    };
    assert_eq!(product(L2 - 8, 0), Ok(()));
    assert_eq!(product(0, L2 - 12), Ok(()));
    let beyond = |field, words, address: u32| {
        Err(format!("`{field}`: {words} words at {address:#x} end beyond L2, which has 114688 words"))
    };
    assert_eq!(product(L2 - 7, 0), beyond("src_addr", 8, L2 - 7));
    assert_eq!(product(0, L2 - 11), beyond("dest_reg", 12, L2 - 11));
}

#[test]
fn weights_of_no_rows_or_columns_are_no_shape() {
    for shape in [[0, 0, 3], [0, 2, 0], [5, 0, 0]] {
        let mut machine = ready();
        set(&mut machine, Cache::WeightShape, 1, shape);
        let [x, y, z] = shape;
        assert_eq!(
            machine.step(&Op::Gemv(MAC)).unwrap_err().to_string(),
            format!(
                "`size_ptr_addr`: entry 1 of WEIGHT_SHAPE is ({x}, {y}, {z}), but its sizes must not be 0: \
                 write it with MEMSET first"
            )
        );
    }
}

#[test]
fn the_product_without_weights_is_numbered() {
    for bound in 1..4 {
        let mut machine = ready();
        (1..bound).for_each(|_| {
            machine.bind_weights(Arc::new(WeightImage::new(2, 3, &[1; 6], None).unwrap()));
        });
        (0..bound).for_each(|_| machine.step(&Op::Gemm(MAC)).unwrap());
        assert_eq!(
            machine.step(&Op::Gemv(MAC)).unwrap_err().to_string(),
            format!(
                "no weights are left: {bound} are bound, and this is GEMV or GEMM number {bound} of the program, \
                 starting at 0"
            )
        );
    }
}

/// Among zeros of both signs, the first is the maximum (specification 4.5).
#[test]
fn the_maximum_is_the_first_of_equal_ones() {
    for (scales, results) in [([-1.0, 1.0], [0x8000, 0]), ([1.0, -1.0], [0, 0x8000])] {
        let mut machine = machine();
        set(&mut machine, Cache::FmapShape, 1, [1, 1, 3]);
        set(&mut machine, Cache::WeightShape, 1, [0, 2, 3]);
        machine.bind_weights(Arc::new(WeightImage::new(2, 3, &[1; 6], Some(scales.to_vec())).unwrap()));
        let flags = MacFlags { findemax: true, accm: false, w_scale: true };
        machine.set_e_max(0x4000);
        machine.step(&Op::Gemv(Mac { flags, ..MAC })).unwrap();
        assert_eq!(machine.read_l2(8, 2).unwrap(), results);
        assert_eq!(machine.e_max(), results[0]);
    }
}

/// The reference refuses a shape without values, or with more than a transfer can count; the
/// circuits count with 20 bits (specification 4.2).
#[test]
fn transfers_of_no_shape_are_refused_where_the_circuits_count_on() {
    for (shape, kinds, words) in [
        ([1, 0, 8], ["shape_zero", "none"], 0),
        ([1024, 1024, 1], ["shape_overflow", "none"], 0),
        ([1, 1025, 1024], ["shape_overflow", "none"], 128),
        ([1, 3, 3], ["none", "none"], 2),
    ] {
        for (preset, expected) in ["extended", "upstream"].into_iter().zip(kinds) {
            let mut machine = Machine::new(&Config::preset(preset).unwrap()).unwrap();
            machine.write_l2(0, &[7; 2048]).unwrap();
            set(&mut machine, Cache::FmapShape, 0, shape);
            let copy = Op::Memcpy(Memcpy { dest_addr: 1000, ..Memcpy::default() });
            assert_eq!(kind(&mut machine, copy), expected, "{preset} {shape:?}");
            let moved = if expected == "none" { 8 * words } else { 0 };
            let there: Vec<u16> = machine.read_l2(1000, 2048).unwrap().to_vec();
            let full = [vec![7; moved], vec![0; 2048 - moved]].concat();
            assert_eq!(there, full, "{preset} {shape:?}");
        }
    }
}

/// Behavior of the circuits that the document does not define is not computed.
#[test]
fn the_circuits_profile_has_no_flags_of_functions() {
    let mut machine = Machine::new(&Config::preset("upstream").unwrap()).unwrap();
    for (flags, expected) in [
        (CvoFlags::PLAIN, "none"),
        (CvoFlags { recip_scale: true, ..CvoFlags::PLAIN }, "none"),
        (CvoFlags { sub_emax: true, ..CvoFlags::PLAIN }, "upstream_undefined"),
        (CvoFlags::ADD, "upstream_undefined"),
        (CvoFlags { sub_emax: true, ..CvoFlags::ADD }, "upstream_undefined"),
    ] {
        let cvo = Cvo { cvo_func: CvoFunc::Scale, length: 2, flags, ..Cvo::default() };
        assert_eq!(kind(&mut machine, Op::Cvo(cvo)), expected, "{flags:?}");
    }
}
