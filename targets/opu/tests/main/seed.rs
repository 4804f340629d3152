//! The draft to the letter (`+seed`): words and strides derived manually from its text.

use npukit_graph::op::{Conv, Relu};
use npukit_graph::quantize::{Kind, Quantization, Scheme};
use npukit_graph::{Graph, Op as Operator, ValueId, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use npukit_opu::{Config, OPU, Validity, decode, isa};
use npukit_target::{Assembled, CompileOptions, Compiled, InstanceSpec, NoFiles, TargetError};

use super::assembly::{NO_LIMITS, SPARE, fill, held, on};

/// The eleven forms, with the words of the appendix (`10 act 9 | r 8 | 7 ord 6 | 25`) and of the
/// published parser (`10 res | 9 order 8 | 7 act 6 | 25`).
const POST: [(&str, u32, u32); 11] = [
    ("@post pool", 0x019, 0x019),
    ("@post res, pool", 0x119, 0x419),
    ("@post act.relu, pool", 0x219, 0x059),
    ("@post act.relu, res, pool", 0x319, 0x459),
    ("@post act.leaky, pool", 0x419, 0x099),
    ("@post act.leaky, res, pool", 0x519, 0x499),
    ("@post res, act.relu, pool", 0x359, 0x559),
    ("@post res, act.leaky, pool", 0x559, 0x599),
    ("@post pool, res", 0x199, 0x619),
    ("@post act.relu, pool, res", 0x399, 0x659),
    ("@post act.leaky, pool, res", 0x599, 0x699),
];

fn assembled(preset: &str, text: &str) -> Vec<u8> {
    let instance = OPU.instance(InstanceSpec::Preset(preset)).unwrap();
    let Assembled { bytes, .. } = instance.assemble("p.s", text, &NoFiles).unwrap();
    bytes
}

#[test]
fn post_has_the_fields_of_the_appendix_or_of_the_published_parser() {
    for (text, seed, published) in POST {
        for (preset, word) in [("reference+seed", seed), ("reference", published), ("int16+draft", published)]
        {
            assert_eq!(assembled(preset, text), word.to_le_bytes(), "{preset} {text}");
            let instance = OPU.instance(InstanceSpec::Preset(preset)).unwrap();
            let listing = instance.disassemble(&word.to_le_bytes(), "npukit").unwrap();
            assert_eq!((listing.text.trim_end(), &listing.problems[..]), (text, &[][..]), "{preset}");
        }
        assert_eq!(decode(seed, Validity::Seed), decode(published, Validity::Corrected));
    }
    // The table has neither order 1 without a residual nor activation 3.
    for word in [0x059, 0x619] {
        assert!(decode(word, Validity::Seed).is_err(), "{word:#x}");
    }
}

#[test]
fn suffixes_come_in_any_order_and_the_letter_prevails() {
    for (name, validity) in [
        ("reference", Validity::Corrected),
        ("reference+draft", Validity::Draft),
        ("bf16+seed", Validity::Seed),
        ("reference+seed+draft", Validity::Seed),
        ("reference+draft+seed", Validity::Seed),
    ] {
        let config = Config::preset(name).unwrap();
        assert_eq!(config.validity, validity, "{name}");
        assert_eq!(Config::from_toml(&toml::to_string(&config).unwrap()).unwrap(), config, "{name}");
    }
    assert_eq!(Config::preset("reference+sed"), None);
}

/// Returns the weights that `ld.ker 1` reads from bank 2, where element e has the value e modulo
/// 101.
fn loaded(preset: &str, inputs: u32, outputs: u32, slices: u32) -> Vec<i64> {
    let text = format!(
        "@shape.ifm [1,1,{inputs}]\n@shape.ofm [1,1,{outputs}]\n@shape.ker {slices}\n@mem.ker 2\nld.ker 1\nend\n"
    );
    let program = on(preset, "p.s", text.as_bytes()).unwrap();
    let mut machine = program.machine(&SPARE).unwrap();
    let bank: Vec<i64> = (0..64 + 8192).map(|element| element % 101).collect();
    fill(&mut *machine, "weights.2", 0, &bank);
    machine.run(NO_LIMITS).unwrap();
    held(&*machine, "ker", 0, (slices * outputs).into()).unwrap()
}

#[test]
fn kernels_have_the_printed_strides_or_are_dense() {
    for (inputs, outputs, slices) in [(16, 2, 3), (16, 64, 2), (32, 32, 2), (64, 16, 1)] {
        let rows = |of: &dyn Fn(u32, u32) -> u32| -> Vec<i64> {
            (0..slices)
                .flat_map(|n| (0..outputs).map(move |k| (n, k)))
                .flat_map(|(n, k)| (0..inputs).map(move |l| (n, k, l)))
                .map(|(n, k, l)| i64::from(64 + of(n, k) + l) % 101)
                .collect()
        };
        let printed = rows(&|n, k| n * outputs * inputs + k * outputs);
        let dense = rows(&|n, k| (n * outputs + k) * inputs);
        let held = |preset| loaded(preset, inputs, outputs, slices);
        // `ker` shows 64 lanes in each row.
        let lanes = |rows: Vec<i64>| -> Vec<i64> {
            rows.chunks(inputs as usize)
                .flat_map(|row| row.iter().copied().chain(std::iter::repeat(0)).take(64))
                .collect()
        };
        assert_eq!(held("reference+seed"), lanes(printed), "{inputs} {outputs}");
        assert_eq!(held("reference"), lanes(dense), "{inputs} {outputs}");
    }
}

#[test]
fn pads_have_the_printed_stride_or_whole_rows() {
    let cleared = |preset: &str| -> Vec<usize> {
        let text = "@mem.ofm 0, [3,3]\npad 1, 1\nend\n";
        let program = on(preset, "p.s", text.as_bytes()).unwrap();
        let mut machine = program.machine(&SPARE).unwrap();
        fill(&mut *machine, "memory", 0, &[7; 1024]);
        machine.run(NO_LIMITS).unwrap();
        let bytes = held(&*machine, "memory", 0, 1024).unwrap();
        (0..1024).filter(|&byte| bytes[byte] == 0).collect()
    };
    // Rows of three 64-byte slots begin 3 bytes apart. They cover 0 to 191, then 3 to 66 and 131 to
    // 194, then 6 to 197.
    assert_eq!(cleared("reference+seed"), (64..64 + 198).collect::<Vec<_>>());
    let pixel = 64 + 4 * 64;
    let around = (64..pixel).chain(pixel + 64..64 + 9 * 64);
    assert_eq!(cleared("reference"), around.collect::<Vec<_>>());
}

/// Compiles a pointwise convolution of 64 channels to `outputs`, or one of 3 x 3 with a border.
fn convolution(preset: &str, [side, outputs]: [usize; 2]) -> Result<Box<dyn Compiled>, TargetError> {
    let mut graph = Graph { name: "test".into(), ..Graph::default() };
    let info = ValueInfo { shape: vec![1, 4, 4, 64], element: ElementType::F32 };
    let x = graph.add_input("x", info);
    let shape = vec![side, side, 64, outputs];
    let weights = (0..side * side * 64 * outputs).map(|index| (index * 7 % 31) as f32 / 16.0 - 1.0).collect();
    let weights = graph.add_constant("w", Tensor::from_f32(shape, weights).unwrap());
    let border = side / 2;
    let conv = Conv { strides: [1, 1], pads: [border; 4], dilations: [1, 1], group: 1 };
    let sums = graph.add_node("conv", Operator::from(conv), vec![x, weights], &["sums"]).unwrap();
    graph.outputs = graph.add_node("relu", Operator::from(Relu), sums, &["y"]).unwrap();
    let mut quantization = Quantization::new(Scheme::default());
    let values = (0..).map(ValueId).zip(&graph.values).filter(|(_, value)| value.constant.is_none());
    values.for_each(|(id, _)| quantization.set(id, Kind::Activation, 3));
    let options = CompileOptions { quantization: Some(quantization), ..CompileOptions::default() };
    OPU.instance(InstanceSpec::Preset(preset)).unwrap().compile(&graph, &options)
}

#[test]
fn the_compiler_writes_what_the_letter_can_say_and_refuses_all_else() {
    let [seed, published] = ["reference+seed", "reference"].map(|preset| {
        let compiled = convolution(preset, [1, 64]).unwrap();
        let bytes = compiled.words().unwrap().parts[0].bytes.clone();
        bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect::<Vec<_>>()
    });
    let post = published.iter().position(|&word| word == 0x059).unwrap();
    assert_eq!(seed[post], 0x219, "`@post act.relu, pool`");
    assert_eq!([&seed[..post], &seed[post + 1..]], [&published[..post], &published[post + 1..]]);
    for (sides, mnemonic) in [([1, 16], "ld.ker"), ([3, 64], "pad")] {
        let Err(TargetError::Refused(problems)) = convolution("reference+seed", sides) else {
            panic!("{sides:?}")
        };
        assert_eq!(problems.iter().map(|problem| &problem.op[..]).collect::<Vec<_>>(), [mnemonic]);
        convolution("reference", sides).unwrap();
    }
}

#[test]
fn the_reference_page_says_which_reading_counts() {
    for (validity, says) in
        [(Validity::Corrected, "published parser;"), (Validity::Seed, "draft's appendix;")]
    {
        let isa = isa(validity);
        let post = isa.instructions.iter().find(|row| row.name == "@post").unwrap();
        assert!(post.doc.contains(says), "{}", post.doc);
        for name in ["ld.ker", "pad"] {
            let row = isa.instructions.iter().find(|row| row.name == name).unwrap();
            assert!(row.doc.contains("`+seed`"), "{name}: {}", row.doc);
        }
    }
    assert_eq!(isa(Validity::Seed).check(), []);
}
