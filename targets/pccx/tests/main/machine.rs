//! The machine: what instructions refuse, what they leave alone, and every function over all BF16.

use std::sync::Arc;

use npukit_pccx::bf16::{NAN, bf_of_double, val};
use npukit_pccx::fault::Direction;
use npukit_pccx::op::{Cache, Cvo, CvoFlags, CvoFunc, Device, Mac, MacFlags, Memcpy, Memset, Op, Shape};
use npukit_pccx::{Config, Machine, WeightImage, evaluate};
use proptest::prelude::*;

const L2: u32 = 114_688;

fn machine() -> Machine {
    Machine::new(&Config::preset("extended").unwrap()).unwrap()
}

fn set(machine: &mut Machine, dest_cache: Cache, dest_addr: u8, [x, y, z]: [u16; 3]) {
    machine.step(&Op::Memset(Memset { dest_cache, dest_addr, shape: Shape::new(x, y, z) })).unwrap();
}

/// fmap[1] = (1, 1, 3), weight[1] = (0, 2, 3), and weights of that size without scales.
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
        "instruction 1: `dest_reg`: 1 words from 0x1c000 on end beyond L2, which has 114688"
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
    assert_eq!(machine.e_max(), NAN, "there is no number among the results");
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

/// A double is within an ulp or so of the real value. Where it is farther than that from every tie, rounding
/// it gives the nearest BF16; where it is not, the result is exact.
#[test]
fn every_function_of_every_bf16_is_correctly_rounded() {
    use CvoFunc::{Cos, Exp, Gelu, Recip, Sin, Sqrt, Tanh};
    for function in [Exp, Sqrt, Gelu, Sin, Cos, Recip, Tanh] {
        for bits in 0..=u16::MAX {
            let y = evaluate(function, val(bits));
            if !y.is_finite() || y == 0.0 {
                continue;
            }
            // Relative error of GELU: a few operations of half an ulp, and of the exponential's argument.
            let slack = y.abs() * 2e-14 * if function == Gelu { 1.0 + val(bits).abs() as f64 } else { 1.0 };
            let (below, above) = (bf_of_double(y - slack), bf_of_double(y + slack));
            // GELU of a number next to the smallest ones is half of it in any precision but one of 40 digits.
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

    /// Whatever the words, the machine answers: nothing panics, and the same program gives the same state.
    #[test]
    fn any_words_run_or_fault(words in prop::collection::vec((0_u64..5, any::<u64>()), 1..40), small: bool) {
        let codec = npukit_pccx::Codec { extensions: true, strict: false };
        let run = || {
            let mut machine = ready();
            machine.bind_window(Direction::HostToL2, 0, vec![3; 4096]).unwrap();
            let mut faults = 0;
            for &(opcode, body) in &words {
                // Small addresses and shapes meet what is there.
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
