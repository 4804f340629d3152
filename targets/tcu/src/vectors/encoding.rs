//! `encoding.json`: instructions and their bytes, in both directions.
//!
//! A case encodes the instruction that its fields describe, and decodes the bytes again. A vector
//! without fields (an instruction of a published program) uses the decoded instruction. Opcode,
//! flags and operands are compared with the word's bits in every case that lists them.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_base::{BitRange, Word};
use npukit_target::{Case, Outcome};

use super::{Golden, from_hex, hex};
use crate::config::Config;
use crate::config::json_fields::{JsonFields, KeyError};
use crate::isa::codec::Codec;
use crate::isa::op::{DataMoveKind, Op, SimdOp, SimdSub, Strided};

struct Vector {
    codec: Arc<Codec>,
    thread: u64,
    /// Instruction that the fields describe; `None` without fields.
    op: Option<Op>,
    bytes: Vec<u8>,
    /// Parts of the word, with their listed values.
    parts: Vec<(&'static str, BitRange, u64)>,
}

pub(super) fn cases(golden: &Golden<'_>) -> Result<Vec<Case>, KeyError> {
    let codecs = codecs(&golden.keys.keys("architectures")?)?;
    let case = |keys: &JsonFields<'_>| {
        let name = format!("{} {} {}", keys.number("id")?, keys.string("arch")?, keys.string("mnemonic")?);
        let vector = vector(keys, &codecs)?;
        Ok(Case::new(name, move || vector.check()))
    };
    golden.keys.list("vectors")?.iter().map(case).collect()
}

fn codecs<'a>(architectures: &JsonFields<'a>) -> Result<BTreeMap<&'a str, Arc<Codec>>, KeyError> {
    let codec = |(name, keys): (&'a str, JsonFields<'a>)| {
        let (config, _) = Config::from_value(keys.required("params")?)
            .map_err(|error| keys.error("params", error.to_string()))?;
        Ok((name, Arc::new(Codec::new(&config))))
    };
    architectures.objects()?.into_iter().map(codec).collect()
}

fn vector(keys: &JsonFields<'_>, codecs: &BTreeMap<&str, Arc<Codec>>) -> Result<Vector, KeyError> {
    let arch = keys.string("arch")?;
    let codec = codecs.get(arch).ok_or_else(|| keys.error("arch", "is not among the architectures"))?;
    let op = match keys.has("fields") {
        true => Some(op(keys.string("mnemonic")?, &keys.keys("fields")?, keys)?),
        false => None,
    };
    let (codec, bytes) = (Arc::clone(codec), from_hex(keys, "hex")?);
    Ok(Vector { parts: parts(keys, &codec)?, thread: keys.number("tid")?, codec, op, bytes })
}

fn op(mnemonic: &str, fields: &JsonFields<'_>, vector: &JsonFields<'_>) -> Result<Op, KeyError> {
    let strided = |address: &str, stride: &str| {
        Ok(Strided { address: fields.number(address)?, stride_log2: fields.number(stride)? as u32 })
    };
    let local = || strided("local_address", "local_stride_log2");
    let size = || fields.number("size_minus_1").map(|n| n.saturating_add(1));
    Ok(match mnemonic {
        "NoOp" => Op::NoOp,
        "Wait" => Op::Wait { thread: fields.number("tid_to_wait")? },
        "MatMul" => Op::MatMul {
            accumulate: fields.flag("accumulate")?,
            zeroes: fields.flag("zeroes")?,
            local: local()?,
            accumulator: strided("accumulator_address", "accumulator_stride_log2")?,
            size: size()?,
        },
        "DataMove" => Op::DataMove {
            kind: kind(fields)?,
            local: local()?,
            other: strided("other_address", "other_stride_log2")?,
            size: size()?,
        },
        "LoadWeights" => Op::LoadWeights { zeroes: fields.flag("zeroes")?, local: local()?, size: size()? },
        "SIMD" => simd(fields)?,
        "Configure" => Op::Configure {
            register: fields.number("register")? as u8,
            value: fields.number("value")? as u32,
        },
        _ => return Err(vector.error("mnemonic", format!("`{mnemonic}` is not an instruction"))),
    })
}

fn simd(fields: &JsonFields<'_>) -> Result<Op, KeyError> {
    let register = |key: &str| fields.number(key).map(|n| n as u8);
    Ok(Op::Simd {
        read: fields.flag("read")?,
        write: fields.flag("write")?,
        accumulate: fields.flag("accumulate")?,
        write_address: fields.number("write_address")?,
        read_address: fields.number("read_address")?,
        sub: SimdSub {
            op: simd_op(fields, "op")?,
            left: register("left")?,
            right: register("right")?,
            destination: register("dest")?,
        },
    })
}

/// Reads the SIMD operation named at `key`.
pub(super) fn simd_op(keys: &JsonFields<'_>, key: &str) -> Result<SimdOp, KeyError> {
    let name = keys.string(key)?;
    let op = SimdOp::ALL.into_iter().find(|op| op.name() == name);
    op.ok_or_else(|| keys.error(key, format!("`{name}` is not a SIMD operation")))
}

fn kind(fields: &JsonFields<'_>) -> Result<DataMoveKind, KeyError> {
    Ok(match fields.string("kind")? {
        "DRAM0ToLocal" => DataMoveKind::Dram0ToLocal,
        "LocalToDRAM0" => DataMoveKind::LocalToDram0,
        "DRAM1ToLocal" => DataMoveKind::Dram1ToLocal,
        "LocalToDRAM1" => DataMoveKind::LocalToDram1,
        "AccumulatorToLocal" => DataMoveKind::AccumulatorToLocal,
        "LocalToAccumulator" => DataMoveKind::LocalToAccumulator,
        "LocalToAccumulatorAccumulate" => DataMoveKind::LocalToAccumulatorAccumulate,
        other => return Err(fields.error("kind", format!("`{other}` is not a kind of DataMove"))),
    })
}

/// Returns the parts of the word that the vector lists.
fn parts(keys: &JsonFields<'_>, codec: &Codec) -> Result<Vec<(&'static str, BitRange, u64)>, KeyError> {
    let layout = codec.config().layout();
    let operand1 = layout.operand0_bits;
    let operand2 = operand1 + layout.operand1_bits;
    let header = layout.operands_bits();
    let opcode_bits = 4 - layout.tid_bits;
    let ranges = [
        ("operand0", BitRange::new(0, layout.operand0_bits)),
        ("operand1", BitRange::new(operand1, layout.operand1_bits)),
        ("operand2", BitRange::new(operand2, layout.operand2_bits)),
        ("flags", BitRange::new(header, 4)),
        ("opcode", BitRange::new(header + 4, opcode_bits)),
        ("tid", BitRange::new(header + 4 + opcode_bits, layout.tid_bits)),
    ];
    let listed = ranges.into_iter().filter(|(key, _)| keys.has(key));
    listed.map(|(key, range)| Ok((key, range, keys.number(key)?))).collect()
}

impl Vector {
    fn check(&self) -> Outcome {
        let size = self.codec.instruction_bytes();
        if self.bytes.len() != size {
            return Outcome::compare(&format!("{} bytes", self.bytes.len()), &format!("{size} bytes"));
        }
        self.differences().unwrap_or_else(|error| Outcome::error(hex(&self.bytes), error))
    }

    fn differences(&self) -> Result<Outcome, String> {
        let word = Word::from_le_bytes(&self.bytes);
        let decoded = self.codec.decode(word).map_err(|error| error.to_string())?;
        let expected = (self.op.unwrap_or(decoded.op), self.thread);
        if expected != (decoded.op, decoded.thread) {
            let shown = |(op, thread): (Op, u64)| format!("{op:?} of thread {thread}");
            return Ok(Outcome::compare(&shown(expected), &shown((decoded.op, decoded.thread))));
        }
        for &(name, range, value) in &self.parts {
            if word.get(range) != value {
                return Ok(Outcome::compare(
                    &format!("{name} {value}"),
                    &format!("{name} {}", word.get(range)),
                ));
            }
        }
        let encoded = self.codec.encode_on(self.thread, &expected.0).map_err(|error| error.to_string())?;
        let bytes = &encoded.to_le_bytes()[..self.bytes.len()];
        Ok(Outcome::compare(&hex(&self.bytes), &hex(bytes)))
    }
}
