//! Correctly compiled programs of random networks are never refuted. `NPUKIT_VERIFY_NETWORKS` sets
//! the number of networks.

use npukit::verbs::verify::{Request, verify};
use npukit::{Error, Source};
use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use npukit_numeric::SplitMix64;
use prost::Message;

use crate::memory::Memory;

/// All targets; the one with optional tables appears twice.
const TARGETS: [&str; 5] = ["tcu:ultra96v2", "tcu:ultra96v2+lut", "opu", "drra:3x4+ext", "pccx"];

/// Default number of networks, each compiled for all targets.
const NETWORKS: u64 = 6;

/// Unary operators. Some run on the host or have no rule in field arithmetic.
const UNARY: [&str; 14] = [
    "Relu",
    "Sigmoid",
    "Tanh",
    "HardSigmoid",
    "HardSwish",
    "Softmax",
    "Softplus",
    "Neg",
    "Abs",
    "Exp",
    "Hardmax",
    "Shrink",
    "LpNormalization",
    "Softsign",
];

/// Types of inputs; the first ones need no conversion.
const TYPES: [i32; 7] = [
    data_type::FLOAT,
    data_type::FLOAT,
    data_type::FLOAT16,
    data_type::DOUBLE,
    data_type::INT8,
    data_type::INT64,
    data_type::BOOL,
];

/// Shape of the values between nodes.
const SHAPE: [i64; 2] = [2, 8];

/// Network under construction.
struct Net {
    random: SplitMix64,
    graph: GraphProto,
    last: String,
}

fn below(random: &mut SplitMix64, count: usize) -> usize {
    (random.bits() % count as u64) as usize
}

fn info(name: &str, elem_type: i32) -> ValueInfoProto {
    let dimension = |&size: &i64| DimensionProto { dim_value: Some(size), dim_param: None };
    let shape = TensorShapeProto { dim: SHAPE.iter().map(dimension).collect() };
    let tensor_type = TensorTypeProto { elem_type, shape: Some(shape) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}

impl Net {
    fn constant(&mut self, dims: &[i64], scale: f32) -> String {
        let name = format!("c{}", self.graph.initializer.len());
        let random = &mut self.random;
        let count = dims.iter().product::<i64>();
        let number = |_| ((random.bits() >> 40) as f32 / (1u32 << 23) as f32 - 1.0) * scale;
        let float_data = (0..count).map(number).collect();
        let tensor = TensorProto {
            name: name.clone(),
            data_type: data_type::FLOAT,
            dims: dims.to_vec(),
            float_data,
            ..TensorProto::default()
        };
        self.graph.initializer.push(tensor);
        name
    }

    /// Adds a node of the last value and others; its result becomes the last value.
    fn node(&mut self, op: &str, others: &[String], attribute: Vec<AttributeProto>) {
        let output = format!("v{}", self.graph.node.len());
        let input = std::iter::once(self.last.clone()).chain(others.iter().cloned()).collect();
        self.graph.node.push(NodeProto {
            op_type: op.to_owned(),
            name: output.clone(),
            input,
            output: vec![output.clone()],
            attribute,
            ..NodeProto::default()
        });
        self.last = output;
    }

    fn step(&mut self) {
        match below(&mut self.random, 6) {
            0 => {
                let weights = self.constant(&[8, 8], 0.5);
                self.node("MatMul", &[weights], Vec::new());
            }
            1 => {
                let [scale, bias] = [1.0, 0.5].map(|size| self.constant(&[8], size));
                self.node("LayerNormalization", &[scale, bias], Vec::new());
            }
            2 => {
                let kinds = ["Add", "Mul", "Max", "Min", "Sub"];
                let other = self.constant(&[8], 1.0);
                let kind = kinds[below(&mut self.random, kinds.len())];
                self.node(kind, &[other], Vec::new());
            }
            _ => {
                let op = UNARY[below(&mut self.random, UNARY.len())];
                self.node(op, &[], Vec::new());
            }
        }
    }
}

fn model(seed: u64) -> Vec<u8> {
    let mut net = Net { random: SplitMix64::new(seed), graph: GraphProto::default(), last: "x".to_owned() };
    let element = TYPES[below(&mut net.random, TYPES.len())];
    net.graph.name = "random".to_owned();
    net.graph.input.push(info("x", element));
    if element != data_type::FLOAT {
        let to = AttributeProto {
            name: "to".to_owned(),
            i: Some(data_type::FLOAT.into()),
            r#type: attribute_type::INT,
            ..AttributeProto::default()
        };
        net.node("Cast", &[], vec![to]);
    }
    for _ in 0..2 + below(&mut net.random, 4) {
        net.step();
    }
    net.graph.output.push(info(&net.last.clone(), data_type::FLOAT));
    let opset = OperatorSetIdProto { version: 17, ..OperatorSetIdProto::default() };
    ModelProto { ir_version: 8, opset_import: vec![opset], graph: Some(net.graph), ..Default::default() }
        .encode_to_vec()
}

/// Checks which programs are proved, by target.
#[test]
fn correct_programs_are_never_refuted() {
    let asked = std::env::var("NPUKIT_VERIFY_NETWORKS").ok().and_then(|count| count.parse().ok());
    let (mut proved, mut unproved) = ([0; TARGETS.len()], Vec::new());
    for seed in 0..asked.unwrap_or(NETWORKS) {
        let mut files = Memory::default();
        files.0.insert("m.onnx".into(), model(seed));
        for (target, proved) in TARGETS.into_iter().zip(&mut proved) {
            let source = Source::model("m.onnx", target);
            match verify(&Request { source, ..Request::default() }, files.context()) {
                Ok(report) if report.proved => *proved += 1,
                Ok(report) => {
                    assert!(report.witness.is_none(), "{seed} {target}: {:?}", report.witness);
                    let found = report.counterexample.map(|found| found.layer);
                    assert!(found.is_some() || !report.uncovered.is_empty(), "{seed} {target}: unnamed");
                    unproved.push(format!("{seed} {target}: {found:?} {:?}", report.uncovered));
                }
                // A refusal by the target does not concern proofs.
                Err(Error::Target(_)) => unproved.push(format!("{seed} {target}: refused")),
                Err(error) => unproved.push(format!("{seed} {target}: {error}")),
            }
        }
    }
    assert!(proved.iter().all(|&count| count > 0), "{proved:?} {unproved:#?}");
}
