//! The 900 numeric vectors of `tests/golden/tcu/numerics.json`, through the machine if it has an
//! instruction for them.

use npukit_numeric::{NumberFormat, Saturations};
use npukit_tcu::internals::artifact::{raw_from_bytes, raw_to_bytes};
use npukit_tcu::internals::op::{Op, SimdOp, SimdSub, Strided};
use npukit_tcu::{Config, DataType, Machine, Memory, Overlap, Reading};
use serde_json::Value;

use crate::golden::{golden, hex_bytes, raw, raws, text};

fn data_type(case: &Value) -> DataType {
    DataType::from_name(text(&case["type"])).unwrap()
}

/// Returns a small instance with two registers.
pub fn small(data_type: DataType, array_size: usize) -> Config {
    Config {
        data_type,
        array_size,
        dram0_depth: 64,
        dram1_depth: 64,
        local_depth: 64,
        accumulator_depth: 64,
        simd_registers_depth: 2,
        stride0_depth: 4,
        stride1_depth: 4,
        number_of_threads: 1,
        thread_queue_depth: 8,
        lookup_tables: 0,
        lookup_depth: 0,
        sample_block_size: 0,
        reading: Reading::Released,
        overlap: Overlap::RELEASED,
        registered_rows: false,
    }
}

fn simd_op(name: &str) -> SimdOp {
    SimdOp::ALL.into_iter().find(|op| op.name() == name).unwrap()
}

fn simd(read: bool, write: bool, op: SimdOp, left: u8, right: u8, destination: u8) -> Op {
    let sub = SimdSub { op, left, right, destination };
    Op::Simd { read, write, accumulate: false, write_address: 2, read_address: 0, sub }
}

/// Computes `op(left, right)` with the left value from the accumulators and the right one in a
/// register, and with both in registers.
fn run_simd(data_type: DataType, op: SimdOp, left: i32, right: i32) -> [i32; 2] {
    let mut machine = Machine::new(&small(data_type, 1)).unwrap();
    machine.write(Memory::Accumulators, 0, &[left, right]).unwrap();
    let load = |address, register| {
        let sub = SimdSub { op: SimdOp::Move, left: 0, right: 0, destination: register };
        Op::Simd { read: true, write: false, accumulate: false, write_address: 0, read_address: address, sub }
    };
    let takes_input = op != SimdOp::Zero;
    let program =
        [load(1, 1), simd(takes_input, true, op, 0, 1, 0), load(0, 2), simd(false, false, op, 2, 1, 1)];
    [0, 1].map(|step| {
        machine.run(&program[2 * step..2 * step + 2], &mut |_| ()).unwrap();
        if step == 1 {
            machine.step(&simd(false, true, SimdOp::Move, 1, 1, 0)).unwrap();
        }
        machine.read(Memory::Accumulators, 2, 1).unwrap()[0]
    })
}

#[test]
fn simd_vectors() {
    let file = golden("numerics.json");
    let cases = file["simd"].as_array().unwrap();
    for case in cases {
        let result =
            run_simd(data_type(case), simd_op(text(&case["op"])), raw(&case["left"]), raw(&case["right"]));
        assert_eq!(result, [raw(&case["result"]); 2], "{case}");
    }
    assert_eq!(cases.len(), 684);
}

#[test]
fn conversion_mac_and_byte_vectors() {
    let file = golden("numerics.json");
    let mut count = 0;
    for case in file["from_float"].as_array().unwrap() {
        let float = f32::from_bits(u32::from_str_radix(text(&case["float32_bits"]), 16).unwrap());
        assert_eq!(data_type(case).format().raw_from_f32(float), raw(&case["raw"]), "{case}");
        count += 1;
    }
    for case in file["host_conversion_differences"].as_array().unwrap() {
        let float = (case["scaled_value"].as_f64().unwrap() / 256.0) as f32;
        let expected = raw(&case["compiler_and_emulator_tool"]);
        assert_eq!(data_type(case).format().raw_from_f32(float), expected, "{case}");
        count += 1;
    }
    for case in file["mac"].as_array().unwrap() {
        let [x, y, z] = ["x", "y", "z"].map(|key| raw(&case[key]));
        let format = data_type(case).format();
        assert_eq!(format.mac(x, y, z, &mut Saturations::default()), raw(&case["result"]), "{case}");
        let NumberFormat::Fixed(fixed) = format else { panic!("fixed formats only: {case}") };
        assert_eq!(fixed.mac(x.into(), y.into(), z.into()), i64::from(raw(&case["result"])), "{case}");
        count += 1;
    }
    for case in file["bytes"].as_array().unwrap() {
        let (value, bytes) = (raw(&case["raw"]), hex_bytes(text(&case["hex"])));
        assert_eq!(raw_to_bytes(data_type(case), &[value]), bytes, "{case}");
        assert_eq!(raw_from_bytes(data_type(case), &bytes), Ok(vec![value]), "{case}");
        count += 1;
    }
    assert_eq!(count, 104 + 8 + 56 + 36);
}

#[test]
fn matrix_row_vectors() {
    let file = golden("numerics.json");
    let cases = file["matmul_row"].as_array().unwrap();
    for case in cases {
        let weights: Vec<Vec<i32>> =
            case["weights_rows_bias_first"].as_array().unwrap().iter().map(raws).collect();
        let n = weights.len() - 1;
        let mut machine = Machine::new(&small(data_type(case), n)).unwrap();
        machine.write(Memory::Local, 0, &weights.concat()).unwrap();
        machine.write(Memory::Local, n as u64 + 1, &raws(&case["input"])).unwrap();
        machine.write(Memory::Accumulators, 1, &raws(&case["accumulator_before"])).unwrap();
        let at = |address| Strided { address, stride_log2: 0 };
        let load = Op::LoadWeights { zeroes: false, local: at(0), size: n as u64 + 1 };
        machine.step(&load).unwrap();
        for (accumulate, address, key) in [(false, 0, "result"), (true, 1, "accumulator_after_accumulate")] {
            let local = at(n as u64 + 1);
            let op = Op::MatMul { accumulate, zeroes: false, local, accumulator: at(address), size: 1 };
            machine.step(&op).unwrap();
            assert_eq!(machine.read(Memory::Accumulators, address, 1).unwrap(), raws(&case[key]), "{case}");
        }
    }
    assert_eq!(cases.len(), 12);
}
