//! The instruction set: golden encodings, text, agreement of `Op` and `IsaSpec`.

use std::collections::BTreeMap;

use npukit_asm::{assemble, disassemble};
use npukit_base::{BitRange, Word};
use npukit_isa::Mode;
use npukit_isa::program::At;
use npukit_tcu::internals::codec::{DecodeError, decode_program_lenient};
use npukit_tcu::internals::op::{DataMoveKind, SimdOp, SimdSub, Strided};
use npukit_tcu::{
    Codec, Config, DataType, Op, Overlap, Reading, decode_program, encode_program, isa, listing,
};
use proptest::prelude::*;
use serde_json::Value;

const ENCODINGS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/tcu/encoding.json"));

fn golden() -> (BTreeMap<String, Config>, Value) {
    let file: Value = serde_json::from_str(ENCODINGS).unwrap();
    let architectures = file["architectures"].as_object().unwrap();
    let config = |value: &Value| Config::from_value(&value["params"]).unwrap().0;
    let configs = architectures.iter().map(|(name, value)| (name.clone(), config(value))).collect();
    (configs, file)
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn layouts_are_the_golden_ones() {
    let (configs, file) = golden();
    for (name, config) in &configs {
        let layout = config.layout();
        let ours = serde_json::json!({
            "tid_bits": layout.tid_bits, "local_bits": layout.local_bits,
            "accumulator_bits": layout.accumulator_bits, "dram0_bits": layout.dram0_bits,
            "dram1_bits": layout.dram1_bits, "stride0_bits": layout.stride0_bits,
            "stride1_bits": layout.stride1_bits, "simd_op_bits": layout.simd_op_bits,
            "simd_operand_bits": layout.simd_operand_bits, "simd_sub_bits": layout.simd_sub_bits,
            "operand0_address_bits": layout.operand0_address_bits, "operand0_bits": layout.operand0_bits,
            "operand1_address_bits": layout.operand1_address_bits, "operand1_bits": layout.operand1_bits,
            "operand2_value_bits": layout.operand2_value_bits, "operand2_bits": layout.operand2_bits,
            "operands_bits": layout.operands_bits(), "header_bits": 8,
            "instruction_bytes": layout.instruction_bytes(),
        });
        assert_eq!(ours, file["architectures"][name]["layout"], "{name}");
    }
    assert_eq!(configs.len(), 11);
}

/// Returns the instruction that a golden vector describes; `None` for vectors with bytes only.
fn described(vector: &Value) -> Option<Op> {
    let fields = vector["fields"].as_object()?;
    let number = |name: &str| fields[name].as_u64().unwrap();
    let flag = |name: &str| fields[name].as_bool().unwrap();
    let strided = |memory: &str| Strided {
        address: number(&format!("{memory}_address")),
        stride_log2: number(&format!("{memory}_stride_log2")) as u32,
    };
    let size = || number("size_minus_1") + 1;
    Some(match vector["mnemonic"].as_str().unwrap() {
        "NoOp" => Op::NoOp,
        "Wait" => Op::Wait { thread: number("tid_to_wait") },
        "MatMul" => Op::MatMul {
            accumulate: flag("accumulate"),
            zeroes: flag("zeroes"),
            local: strided("local"),
            accumulator: strided("accumulator"),
            size: size(),
        },
        "DataMove" => {
            let kind = match vector["flags"].as_u64().unwrap() {
                0x0 => DataMoveKind::Dram0ToLocal,
                0x1 => DataMoveKind::LocalToDram0,
                0x2 => DataMoveKind::Dram1ToLocal,
                0x3 => DataMoveKind::LocalToDram1,
                0xC => DataMoveKind::AccumulatorToLocal,
                0xD => DataMoveKind::LocalToAccumulator,
                0xF => DataMoveKind::LocalToAccumulatorAccumulate,
                code => panic!("{code:#x} is not a kind of DataMove"),
            };
            Op::DataMove { kind, local: strided("local"), other: strided("other"), size: size() }
        }
        "LoadWeights" => Op::LoadWeights { zeroes: flag("zeroes"), local: strided("local"), size: size() },
        "SIMD" => Op::Simd {
            read: flag("read"),
            write: flag("write"),
            accumulate: flag("accumulate"),
            write_address: number("write_address"),
            read_address: number("read_address"),
            sub: SimdSub {
                op: SimdOp::ALL.into_iter().find(|op| op.name() == fields["op"].as_str().unwrap()).unwrap(),
                left: number("left") as u8,
                right: number("right") as u8,
                destination: number("dest") as u8,
            },
        },
        "Configure" => Op::Configure { register: number("register") as u8, value: number("value") as u32 },
        other => panic!("unknown mnemonic {other}"),
    })
}

#[test]
fn golden_vectors_encode_and_decode() {
    let (configs, file) = golden();
    let mut described_vectors = 0;
    for vector in file["vectors"].as_array().unwrap() {
        let config = &configs[vector["arch"].as_str().unwrap()];
        let (codec, bytes) = (Codec::new(config), bytes(vector["hex"].as_str().unwrap()));
        let thread = vector["tid"].as_u64().unwrap();
        assert_eq!(bytes.len(), codec.instruction_bytes(), "{vector}");
        let word = Word::from_le_bytes(&bytes);
        let decoded = codec.decode(word).unwrap();
        assert_eq!(decoded.thread, thread, "{vector}");
        assert_eq!(codec.encode_on(thread, &decoded.op), Ok(word), "{vector}");
        if let Some(op) = described(vector) {
            described_vectors += 1;
            assert_eq!(decoded.op, op, "{vector}");
        }
    }
    assert_eq!(file["vectors"].as_array().unwrap().len(), 171);
    assert!(described_vectors >= 150, "{described_vectors} vectors have fields");
}

#[test]
fn golden_vectors_survive_text() {
    let (configs, file) = golden();
    for vector in file["vectors"].as_array().unwrap() {
        let spec = isa(&configs[vector["arch"].as_str().unwrap()]);
        let bytes = bytes(vector["hex"].as_str().unwrap());
        let text = disassemble(&spec, &bytes).to_string();
        assert!(!text.contains(".word"), "{vector}: {text}");
        assert_eq!(assemble(&spec, "golden.s", &text).unwrap().bytes, bytes, "{text}");
    }
}

#[rustfmt::skip] // Not formatted: specification 3.5 row by row, in npukit's syntax.
const WORKED: [(&str, &str, &str); 32] = [
    ("pynqz1",    "noop",                                                      "0000000000000000"),
    ("pynqz1",    "matmul local[0x5], acc[0x7], 1",                            "0500070000000010"),
    ("pynqz1",    "matmul.acc local[0x123 @2^1], acc[0x45 @2^2], 64",          "23214500203f0011"),
    ("pynqz1",    "matmul.zeroes acc[0x7f], 16",                               "00007f00000f0012"),
    ("pynqz1",    "matmul.acc.zeroes acc[0x1 @2^3], 4",                        "0000010030030013"),
    ("pynqz1",    "matmul local[0xfff @2^7], acc[0x7ff @2^7], 1024",           "ffefff0770ff0310"),
    ("pynqz1",    "datamove local[0x10] <- dram0[0x200], 8",                   "1000000200070020"),
    ("pynqz1",    "datamove dram0[0x200] <- local[0x10], 8",                   "1000000200070021"),
    ("pynqz1",    "datamove local[0x10] <- dram1[0x200], 8",                   "1000000200070022"),
    ("pynqz1",    "datamove dram1[0x200] <- local[0x10], 8",                   "1000000200070023"),
    ("pynqz1",    "datamove local[0x10] <- acc[0x200], 8",                     "100000020007002c"),
    ("pynqz1",    "datamove acc[0x200] <- local[0x10], 8",                     "100000020007002d"),
    ("pynqz1",    "datamove.acc acc[0x200] <- local[0x10], 8",                 "100000020007002f"),
    ("pynqz1",    "datamove local[0xabc @2^3] <- dram0[0xdef @2^4], 512",      "bc6aef0d40ff0120"),
    ("pynqz1",    "loadweights local[0x40], 9",                                "4000080000000030"),
    ("pynqz1",    "loadweights local[0x40 @2^2], 8",                           "4040070000000030"),
    ("pynqz1",    "loadweights.zeroes 1",                                      "0000000000000031"),
    ("pynqz1",    "simd r1 = zero",                                            "0000000000090040"),
    ("pynqz1",    "simd out = max(in, r1), read acc[0x20], write acc[0x21]",   "21002000007a0043"),
    ("pynqz1",    "simd out = multiply(in, r1), read acc[0x44], write.acc acc[0x55]", "5500440000520047"),
    ("pynqz1",    "configure dram0_offset, 4660",                              "40230100000000f0"),
    ("pynqz1",    "configure timeout, 100",                                    "48060000000000f0"),
    ("pynqz1",    "configure program_counter, 1",                              "1a000000000000f0"),
    ("pynqz1",    "datamove local[0x1fff] <- dram0[0xfffff], 1",               "ff1fffff0f000020"),
    ("pynqz1",    "datamove dram0[0xffffe] <- local[0x1fff], 1",               "ff1ffeff0f000021"),
    ("ultra96v2", "matmul.acc local[0x123 @2^1], acc[0x45 @2^2], 64",          "2381004500403f0011"),
    ("ultra96v2", "loadweights local[0x40], 17",                               "400000100000000030"),
    ("ultra96v2", "simd out = max(in, r1), read acc[0x20], write acc[0x21]",   "2100002000007a0043"),
    ("ultra96v2", "matmul local[0x4fff @2^3], acc[0xfff @2^2], 4096",          "ffcf01ff0f40ff0f10"),
    ("ultra96v2", "datamove local[0x4000] <- dram1[0x1fffff], 4096",           "004000ffff1fff0f22"),
    ("cmoda7",    "matmul.acc local[0x123 @2^1], acc[0x45 @2^2], 64",          "23114500013f0011"),
    ("cmoda7",    "datamove local[0xabc @2^3] <- dram0[0xdef @2^4], 512",      "bc3aef0d02ff0120"),
];

#[test]
fn worked_encodings_both_ways() {
    for (preset, text, hex) in WORKED {
        let spec = isa(&Config::preset(preset).unwrap());
        assert_eq!(assemble(&spec, "worked.s", text).unwrap().bytes, bytes(hex), "{text}");
        assert_eq!(disassemble(&spec, &bytes(hex)).to_string(), format!("{text}\n"));
    }
}

#[test]
fn a_person_may_write_it_otherwise() {
    let spec = isa(&Config::preset("pynqz1").unwrap());
    let same = [
        ("MATMUL.zeroes.ACC acc[1@2^3],4 ; comment", "matmul.acc.zeroes acc[0x1 @2^3], 4"),
        ("simd r1 = move(in), read acc[0b1_0]", "simd r1 = move(in, in), read acc[2]"),
        ("configure 8, 0x64 // hundred", "configure timeout, 100"),
        ("  .word 0500070000000010", "matmul local[5], acc[7], 1"),
    ];
    for (first, second) in same {
        let bytes = |text: &str| assemble(&spec, "s", text).unwrap().bytes;
        assert_eq!(bytes(first), bytes(second), "{first}");
    }
    // A unary operation on a register must not encode its ignored source as the input, because the
    // circuit would hang.
    let word = assemble(&spec, "s", "simd out = move(r1), write acc[3]").unwrap().bytes;
    let ops = decode_program(&Config::preset("pynqz1").unwrap(), &word).unwrap();
    assert!(matches!(ops[..], [Op::Simd { sub: SimdSub { left: 1, right: 1, .. }, .. }]), "{ops:?}");
}

#[test]
fn mistakes_are_named() {
    let spec = isa(&Config::preset("pynqz1").unwrap());
    let cases = [
        ("matmull local[0], acc[0], 1", "there is no instruction `matmull`", "did you mean `matmul`?"),
        ("matmul.ac local[0], acc[0], 1", "expected `acc` or `zeroes`, found `ac`", "did you mean `acc`?"),
        ("matmul acc[0], 1", "expected `.` or `local`, found `acc`", "write\nmatmul"),
        (
            "matmul local[0 @2^8], acc[0], 1",
            "8 does not fit: legal are 0 to 7",
            "field `local_stride` of MatMul",
        ),
        (
            "matmul local[0], acc[2048], 1",
            "2048 does not fit: legal are 0 to 2047",
            "field `accumulator_address`",
        ),
        (
            "datamove local[0] <- dram0[0], 8193",
            "8193 does not fit: legal are 1 to 8192",
            "field `size` of DataMove",
        ),
        (
            "datamove local[0] <- dram2[0], 1",
            "expected `dram0`, `dram1` or `acc`, found `dram2`",
            "did you mean `dram0`?",
        ),
        ("simd out = maxx(in, r1)", "expected `noop`, `zero`", "did you mean `max`?"),
        ("simd out = add(in)", "expected `,`, found `)`", "write\nsimd"),
        ("simd r2 = zero", "expected `out` or `r1`, found `r2`", "did you mean `r1`?"),
        ("configure 16, 0", "16 does not fit: legal are", "field `register` of Configure"),
    ];
    for (text, message, hint) in cases {
        let error = assemble(&spec, "s", text).unwrap_err().errors.remove(0);
        let help = miette::Diagnostic::help(&error).unwrap().to_string();
        assert!(error.to_string().starts_with(message), "{text}: {error}");
        assert!(help.starts_with(hint), "{text}: {help}");
    }
}

#[test]
fn upstream_listing() {
    let config = Config::preset("pynqz1").unwrap();
    let hex = ["23214500203f0011", "00007f00000f0012", "1000000200070020", "100000020007002f"];
    let more = ["0000000000000031", "0000000000090040", "21002000007a0043", "5500440000520047"];
    let ops = decode_program(&config, &bytes(&(hex.concat() + &more.concat()))).unwrap();
    let expected = [
        "[0] 0 MatMul(Acc) Local(291)@2^1 Acc(69)@2^2 63(+1)",
        "[1] 0 MatMul Zeroes Acc(127) 15(+1)",
        "[2] 0 DataMove(<-) Local(16) DRAM0(512) 7(+1)",
        "[3] 0 DataMove(->, Acc) Local(16) Acc(512) 7(+1)",
        "[4] 0 LoadWeights Zeroes",
        "[5] 0 SIMD R1=0",
        "[6] 0 SIMD(RW) O=Max(I,R1) WAcc(33) RAcc(32)",
        "[7] 0 SIMD(RWA) O=Multiply(I,R1) WAcc(85) RAcc(68)",
    ];
    assert_eq!(listing(&config, &ops), expected.map(|line| format!("{line}\r\n")).concat());
}

#[test]
fn two_threads() {
    let config = Config { number_of_threads: 2, local_depth: 16384, ..Config::preset("pynqz1").unwrap() };
    let spec = isa(&config);
    let text = "matmul.t1 local[0x1], acc[0x2], 4\nwait.t1 0\nwait 1\n";
    let bytes = assemble(&spec, "s", text).unwrap().bytes;
    assert_eq!(bytes[8], 0x90);
    assert_eq!(disassemble(&spec, &bytes).to_string(), text);
    // An `Op` has no thread, so a two-thread program is refused instead of being misread.
    let errors = decode_program(&config, &bytes).unwrap_err().errors;
    let other = |index, offset| At { index, offset, error: DecodeError::Thread { thread: 1 } };
    assert_eq!(errors, [other(0, 0), other(1, 9)]);
    assert!(encode_program(&config, &[Op::NoOp]).is_err(), "opcode 0 is Wait here");
    assert!(encode_program(&config, &[Op::Configure { register: 0, value: 1 }]).is_err());
}

#[test]
fn lookup_extension() {
    let base = Config { simd_registers_depth: 3, ..Config::preset("pynqz1").unwrap() };
    let with = Config { lookup_tables: 2, ..base.clone() };
    let text = "loadlut local[0x40 @2^1], table 2, 16\nsimd r1 = lookup(in), read acc[0x5]\n";
    let spec = isa(&with);
    let bytes = assemble(&spec, "s", text).unwrap().bytes;
    assert_eq!(disassemble(&spec, &bytes).to_string(), text);
    let ops = decode_program(&with, &bytes).unwrap();
    let local = Strided { address: 0x40, stride_log2: 1 };
    assert_eq!(ops[0], Op::LoadLut { local, table: 2, size: 16 });
    assert!(matches!(ops[1], Op::Simd { sub: SimdSub { op: SimdOp::Lookup, destination: 1, .. }, .. }));
    assert!(assemble(&isa(&base), "s", text).is_err(), "off by default");
    assert_eq!(encode_program(&base, &ops).unwrap_err().errors.len(), 2);
    assert!(decode_program(&base, &bytes[..8]).is_err());
    let table3 = Op::LoadLut { local, table: 3, size: 16 };
    assert!(encode_program(&with, &[table3]).is_err(), "tables 0 to 2");
}

#[test]
fn words_without_meaning() {
    let config = Config::preset("pynqz1").unwrap();
    let words = ["0500070000000054", "1000000200070024", "00000000000000e0", "100000020007002e"];
    let bytes = bytes(&words.concat());
    let errors = decode_program(&config, &bytes).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "instruction 0 (byte 0x0): opcode 0x5 has no meaning\n\
         instruction 1 (byte 0x8): DataMove kind 0x4 has no meaning\n\
         instruction 2 (byte 0x10): opcode 0xe has no meaning\n\
         instruction 3 (byte 0x18): DataMove kind 0xe has no meaning"
    );
    let ops = decode_program_lenient(&config, &bytes).unwrap();
    assert!(ops.iter().all(|op| matches!(op, Op::Unassigned { .. })));
    assert_eq!(encode_program(&config, &ops).unwrap(), bytes, "the whole word is kept");
    let meant = Op::Unassigned { header: 0x10, operands: Word::ZERO };
    assert!(encode_program(&config, &[meant]).is_err(), "that is a MatMul");
    // The header is the upper 8 of 64 bits.
    let wide = |bit| Op::Unassigned { header: 0x50, operands: Word::ZERO.with(BitRange::new(bit, 1), 1) };
    assert!(encode_program(&config, &[wide(55)]).is_ok());
    assert!(encode_program(&config, &[wide(56)]).is_err(), "there is no room for this operand");
}

#[test]
fn a_thread_that_is_not_there_is_refused_by_the_name_of_its_instruction() {
    let codec = Codec::new(&Config::preset("pynqz1").unwrap());
    let at = Strided { address: 0, stride_log2: 0 };
    let sub = SimdSub { op: SimdOp::Move, left: 1, right: 0, destination: 1 };
    let simd =
        Op::Simd { read: false, write: false, accumulate: false, write_address: 0, read_address: 0, sub };
    let kind = DataMoveKind::Dram0ToLocal;
    for (op, name) in [
        (Op::NoOp, "NoOp"),
        (Op::Wait { thread: 0 }, "Wait"),
        (Op::MatMul { accumulate: false, zeroes: false, local: at, accumulator: at, size: 1 }, "MatMul"),
        (Op::DataMove { kind, local: at, other: at, size: 1 }, "DataMove"),
        (Op::LoadWeights { zeroes: false, local: at, size: 1 }, "LoadWeights"),
        (simd, "SIMD"),
        (Op::LoadLut { local: at, table: 0, size: 1 }, "LoadLUT"),
        (Op::Configure { register: 0, value: 0 }, "Configure"),
        (Op::Unassigned { header: 0x50, operands: Word::ZERO }, "Unassigned"),
    ] {
        let error = codec.encode_on(1, &op).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("thread"), "{name}: {error}");
    }
}

#[test]
fn reserved_bits_and_partial_instructions() {
    let config = Config::preset("pynqz1").unwrap();
    let padded = bytes("0500070080000010");
    let error = decode_program(&config, &[padded.as_slice(), &[1, 2, 3]].concat()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "instruction 0 (byte 0x0): reserved bits 39 are not 0\n\
         instruction 1 (byte 0x8): only 3 of the 8 bytes of an instruction are left: \
         the program is truncated or made for another architecture"
    );
    let ops = decode_program_lenient(&config, &padded).unwrap();
    assert!(matches!(ops[..], [Op::MatMul { size: 1, .. }]), "hardware ignores padding");
    let text = disassemble(&isa(&config), &padded).to_string();
    assert_eq!(text, ".word 0500070080000010 ; MatMul: reserved bits 39 are not 0\n");
}

#[test]
fn encoding_checks_are_the_compilers() {
    let config = Config::preset("ultra96v2").unwrap();
    let local = |address, stride_log2| Strided { address, stride_log2 };
    let load = |address, stride, size| Op::LoadWeights { zeroes: false, local: local(address, stride), size };
    let zero = Strided::default();
    let mat_mul = |size| {
        let (accumulate, zeroes) = (false, false);
        Op::MatMul { accumulate, zeroes, local: zero, accumulator: zero, size }
    };
    let wrong = [load(20480, 0, 1), load(0, 8, 1), load(0, 0, 0), load(0, 0, 20481), mat_mul(4097)];
    let errors = encode_program(&config, &wrong).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "instruction 0 (byte 0x0): `local_address` of LoadWeights is 20480: legal are 0 to 20479\n\
         instruction 1 (byte 0x9): `local_stride` of LoadWeights is 8: legal are 0 to 7\n\
         instruction 2 (byte 0x12): `size` of LoadWeights is 0: legal are 1 to 20480\n\
         instruction 3 (byte 0x1b): `size` of LoadWeights is 20481: legal are 1 to 20480\n\
         instruction 4 (byte 0x24): `size` of MatMul is 4097: legal are 1 to 4096"
    );
    assert!(encode_program(&config, &[load(20479, 7, 20480), mat_mul(4096)]).is_ok());
}

#[test]
fn the_reference_names_every_bit() {
    let spec = isa(&Config::preset("pynqz1").unwrap());
    let page = spec.reference_of("matmul").unwrap().text();
    let forms = "    matmul(.acc)?.zeroes acc[<accumulator_address>( @2^<accumulator_stride>)?], <size>\n    \
                 matmul(.acc)?(.zeroes)? local[<local_address>( @2^<local_stride>)?], \
                 acc[<accumulator_address>( @2^<accumulator_stride>)?], <size>\n";
    assert!(page.contains(forms), "{page}");
    for line in ["63:60 opcode 0x1", "55:53 reserved 0", "52:40 size 1 to 2048, stored less 1 vectors"] {
        let found = page.lines().any(|found| found.split_whitespace().collect::<Vec<_>>().join(" ") == line);
        assert!(found, "{line}\n{page}");
    }
    assert!(spec.reference().markdown().contains("## DataMove Local->DRAM1"));
    assert_eq!(spec.reference().json()["instructions"].as_array().unwrap().len(), 12);
    assert!(spec.reference_of("nonsense").is_none());
}

/// Any legal instance, small and large.
fn config() -> impl Strategy<Value = Config> {
    let depth = || prop_oneof![1_u64..70, 1_u64..100_000, (0_u32..=62).prop_map(|bits| 1 << bits)];
    let stride = || 1_usize..=32;
    (
        depth(),
        depth(),
        depth(),
        depth(),
        0_usize..=16,
        stride(),
        stride(),
        1_usize..=2,
        0_usize..=4,
        0..2_usize,
    )
        .prop_map(
            |(dram0, dram1, local, accumulator, registers, stride0, stride1, threads, tables, reading)| {
                Config {
                    data_type: DataType::Fp16Bp8,
                    array_size: 8,
                    dram0_depth: dram0,
                    dram1_depth: dram1,
                    local_depth: local,
                    accumulator_depth: accumulator,
                    simd_registers_depth: registers,
                    stride0_depth: stride0,
                    stride1_depth: stride1,
                    number_of_threads: threads,
                    thread_queue_depth: 8,
                    lookup_tables: tables.min(registers),
                    lookup_depth: 3,
                    sample_block_size: 0,
                    reading: Reading::ALL[reading],
                    overlap: Overlap::RELEASED,
                    registered_rows: false,
                }
            },
        )
}

fn preset() -> impl Strategy<Value = Config> {
    let names: Vec<&str> = Config::presets().collect();
    prop::sample::select(names).prop_map(|name| Config::preset(name).unwrap())
}

/// Returns a word of some row of the table with random operands, and occasionally a stray bit.
fn word(config: &Config, row: prop::sample::Index, bits: [u8; 32], stray: Option<u32>) -> Vec<u8> {
    let spec = isa(config);
    let row = row.get(&spec.instructions);
    let (mask, value) = row.pattern();
    let noise = Word::from_le_bytes(&bits) & !mask & !row.reserved();
    let mut word = noise | value;
    if let Some(bit) = stray {
        word.set(BitRange::new(bit, 1), 1);
    }
    spec.bytes(word, config.layout().instruction_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn op_and_spec_agree(
        config in prop_oneof![preset(), config()],
        row: prop::sample::Index,
        bits: [u8; 32],
        small: bool,
        stray in prop::option::weighted(0.1, 0_u32..256),
    ) {
        // Small operands are often legal, random operands rarely.
        let bits = if small { bits.map(|byte| byte & 0x11) } else { bits };
        let bytes = word(&config, row, bits, stray);
        let (spec, codec, word) = (isa(&config), Codec::new(&config), Word::from_le_bytes(&bytes));
        prop_assert_eq!(spec.check(), []);
        let ours = codec.decode(word).ok().and_then(|it| codec.encode_on(it.thread, &it.op).ok());
        let decoded = spec.decode(&bytes, 0, None, Mode::Strict);
        prop_assert_eq!(decoded.is_ok(), ours.is_some(), "{:?} {:?}", decoded, codec.decode(word));
        if let Ok(decoded) = decoded {
            prop_assert_eq!(ours, Some(word));
            let row = &spec.instructions[decoded.instruction];
            prop_assert_eq!(row.encode(&decoded.values), Ok(word));
            let named = format!("{:?}", codec.decode(word).unwrap().op).to_lowercase();
            let name = row.name.split(' ').next().unwrap().to_lowercase();
            prop_assert!(named.starts_with(&name), "{} {}", named, name);
        }
    }

    #[test]
    fn text_survives(
        config in prop_oneof![preset(), config()],
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 32]>(), any::<bool>()), 1..8),
    ) {
        let mask = |bits: [u8; 32], small| if small { bits.map(|byte| byte & 0x11) } else { bits };
        let words = words.iter().map(|(row, bits, small)| word(&config, *row, mask(*bits, *small), None));
        let bytes: Vec<u8> = words.flatten().collect();
        let spec = isa(&config);
        let text = disassemble(&spec, &bytes).to_string();
        match assemble(&spec, "s", &text) {
            Ok(assembly) => prop_assert_eq!(&assembly.bytes, &bytes, "{}", text),
            Err(errors) => prop_assert!(false, "{:?}\n{}", errors.errors, text),
        }
        let legal = disassemble(&spec, &bytes).problems.is_empty();
        prop_assert!(!legal || !text.contains(".word"), "a legal word has a form: {}", text);
    }

    #[test]
    fn lenient_ops_keep_their_word(config in prop_oneof![preset(), config()], bits: [u8; 32]) {
        let (codec, size) = (Codec::new(&config), config.layout().instruction_bytes());
        let word = Word::from_le_bytes(&bits[..size]);
        let decoded = codec.decode_lenient(word);
        if let Ok(encoded) = codec.encode_on(decoded.thread, &decoded.op) {
            prop_assert_eq!(encoded | decoded.reserved, word);
        }
    }

    #[test]
    fn random_bytes_are_refused_calmly(config in preset(), bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let spec = isa(&config);
        let _ = decode_program(&config, &bytes);
        let _ = decode_program_lenient(&config, &bytes);
        let disassembly = disassemble(&spec, &bytes);
        let whole = bytes.len() - bytes.len() % config.layout().instruction_bytes();
        let again = assemble(&spec, "s", &disassembly.to_string()).unwrap().bytes;
        prop_assert_eq!(&again, &bytes[..whole]);
    }

    #[test]
    fn random_text_is_refused_calmly(text in "[a-z0-9 .,\\[\\]()@^=<;/\n-]{0,80}|\\PC{0,40}") {
        let spec = isa(&Config::preset("pynqz1").unwrap());
        let _ = assemble(&spec, "s", &text);
    }
}
