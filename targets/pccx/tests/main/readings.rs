//! Contradictions of the page of the instruction set and the documents of the machine: both
//! variants, on their instances.

use npukit_graph::op::UnaryKind;
use npukit_pccx::{Config, PCCX, Reading};
use npukit_target::{ArtifactFile, AsmOptions, CompileOptions, InstanceSpec, Limits, NoFiles, ReadError};

use crate::net::Net;

/// Runs a text on an instance with filled memories; returns the first words of L2 at 0x200, or why
/// it stopped.
fn run(instance: &str, text: &str, fill: &[(&str, u64, Vec<i64>)]) -> Result<Vec<i64>, String> {
    let instance = PCCX.instance(InstanceSpec::Preset(instance)).unwrap();
    let program = instance.asm_program("p.s", text.as_bytes(), &NoFiles).unwrap();
    let mut machine = program.machine(&AsmOptions::default()).unwrap();
    for (name, address, numbers) in fill {
        let memory = machine.memories().iter().position(|memory| memory.name == *name).unwrap();
        machine.write(memory, *address, numbers).unwrap();
    }
    machine.run(Limits::default()).map_err(|stopped| stopped.error.to_string())?;
    Ok(machine.read(0, 0x200, 1).unwrap())
}

const DOCUMENTS: &str = "reference";
const SEED: &str = "reference+seed";

#[test]
fn instances_are_named_by_their_reading() {
    let name = |name| PCCX.instance(InstanceSpec::Preset(name)).unwrap().info().name.clone();
    assert_eq!([name("extended+seed"), name(SEED)], ["pccx:extended+seed", "pccx:reference+seed"]);
    assert_eq!(Config::preset(DOCUMENTS).unwrap().reading, Reading::Documents);
    let error = PCCX.instance(InstanceSpec::Preset("nowhere+seed")).err().unwrap().to_string();
    assert!(error.contains("add `+seed`"), "{error}");
}

/// 1/0, 1/-0, and 1 divided by 0.
#[test]
fn the_reciprocal_of_zero() {
    let text = "cvo recip, src=0x10, dst=0x200, len=2\n";
    let zeros = [("l2", 0x10, vec![0, 0x8000, 0, 0, 0, 0, 0, 0])];
    let first = |instance, text: &str, fill: &[_]| run(instance, text, fill).unwrap()[..2].to_vec();
    assert_eq!(first(DOCUMENTS, text, &zeros), [0, 0]);
    assert_eq!(first(SEED, text, &zeros), [0x7F80, 0xFF80]);
    let divide = "cvo scale, src=0x10, dst=0x200, len=2, flags=recip_scale\n";
    let vector = [("l2", 0x10, [vec![0; 8], vec![0x3F80, 0xBF80, 0, 0, 0, 0, 0, 0]].concat())];
    assert_eq!(first(DOCUMENTS, divide, &vector), [0, 0x8000]);
    assert_eq!(first(SEED, divide, &vector), [0x7F80, 0xFF80]);
}

fn product(a: u16, k: u16) -> String {
    format!(
        "memset cache=fmap, idx=0, a=1, b=1, c={k}\nmemset cache=weight, idx=0, a={a}, b=1, c={k}\n\
         gemv dst=0x200, src=0x100, size=0, shape=0, flags=w_scale\n"
    )
}

/// Two blocks that nearly cancel: the result shows where 0.3 was rounded. Both results were
/// computed in Python from the formulas: `f32(f32(s0*S + s1*S) * 0.3)` is 2.5, `f32(s0*f32(S*0.3))
/// + f32(s1*f32(S*0.3))` is one BF16 step more.
#[test]
fn scales_during_the_product() {
    let fractions: [i64; 32] = [
        5, 101, 122, 8, 20, 123, 54, 109, 7, 57, 41, 73, 102, 107, 65, 28, 59, 47, 30, 68, 15, 121, 53, 83,
        21, 48, 30, 57, 19, 33, 42, 87,
    ];
    let x: Vec<i64> = fractions.iter().chain(&fractions).map(|fraction| 0x3F80 + fraction).collect();
    let weights: Vec<i64> = [vec![7; 32], vec![-7; 31], vec![-2]].concat();
    let scale = i64::from(0.3_f32.to_bits());
    let fill = [("l2", 0x100, x), ("weights.0", 0, weights), ("scales.0", 0, vec![scale])];
    assert_eq!(run(DOCUMENTS, &product(0, 64), &fill).unwrap()[0], 0x4020);
    assert_eq!(run(SEED, &product(0, 64), &fill).unwrap()[0], 0x4021);
}

/// 8 times 1 times 3, times 2 from slot `a`, times a half from the weights.
#[test]
fn factors_come_by_memset() {
    const TWO: u16 = 0x4000;
    let fill = [("l2", 0x100, vec![0x3F80; 8]), ("weights.0", 0, vec![3; 8])];
    let scaled = [&fill[..], &[("scales.0", 0, vec![0x3F00_0000])]].concat();
    let result = |instance, a, fill: &[_]| run(instance, &product(a, 8), fill).map(|found| found[0]);
    assert!(result(DOCUMENTS, TWO, &fill).unwrap_err().contains("have no scales"));
    assert_eq!(result(SEED, TWO, &fill), Ok(0x4240), "48");
    assert!(result(SEED, 0, &fill).unwrap_err().contains("have no scales"), "no factor");
    assert_eq!(
        [DOCUMENTS, SEED].map(|instance| result(instance, 0, &scaled)),
        [Ok(0x4140), Ok(0x4140)],
        "12"
    );
    assert_eq!(result(DOCUMENTS, TWO, &scaled), Ok(0x4140), "T changes nothing");
    assert_eq!(result(SEED, TWO, &scaled), Ok(0x41C0), "24");
}

/// Two rows of eight weights, starting at word 0x80, which is pair 0x40: 1 to 7 and -8, and ones.
/// They are followed by their factors, a half and 2; or MEMSET sets a factor, 4. The results are 76
/// and 36 times these. The rest of each row holds arbitrary data.
#[test]
fn weights_come_by_memcpy() {
    let program = |b: u16, a: u16, flags: &str| {
        format!(
            "memset cache=fmap, idx=0, a=1, b=3, c=8\nmemcpy host->l2, dst=0x80, src=0, shape=0\n\
             memset cache=fmap, idx=1, a=1, b={b}, c=8\nmemset cache=weight, idx=0, a={a}, b=2, c=8\n\
             gemv dst=0x200, src=0x100, size=0, shape=1{flags}\n"
        )
    };
    let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0].map(|x| i64::from(x.to_bits() >> 16));
    let words = [
        [0x4321, 0x8765, 0xABCD, 0xFFFF, 0, 0, 0, 0x1234],
        [0x1111, 0x1111, 0x7777, 0, 0, 0, 0, 0],
        [0, 0x3F00, 0, 0x4000, 0, 0, 0, 0],
    ];
    let fill = [("l2", 0x100, x.to_vec()), ("host_to_l2.0", 0, words.concat())];
    let result = |instance, text: &str| run(instance, text, &fill).map(|found| [found[0], found[1]]);
    let bits = |values: [f32; 2]| Ok(values.map(|value| i64::from(value.to_bits() >> 16)));
    assert_eq!(result(SEED, &program(0x40, 0, "")), bits([76.0, 36.0]));
    assert_eq!(result(SEED, &program(0x40, 0, ", flags=w_scale")), bits([38.0, 72.0]));
    assert_eq!(result(SEED, &program(0x40, 0x4080, ", flags=w_scale")), bits([304.0, 144.0]));
    let refused = result(DOCUMENTS, &program(0x40, 0, "")).unwrap_err();
    assert!(refused.contains("an activation is (M, 1, K)"), "{refused}");
    for b in [0, 1] {
        let refused = result(SEED, &program(b, 0, "")).unwrap_err();
        assert!(refused.contains("no weights are bound"), "{refused}");
    }
    let beyond = result(SEED, &program(0xE000, 0, "")).unwrap_err();
    assert!(beyond.contains("`shape_ptr_addr`"), "{beyond}");
}

/// Files store the reading, in the container and in its manifest.
#[test]
fn artifacts_keep_it() {
    let config = Config { reading: Reading::Seed, ..Config::preset("reference").unwrap() };
    let text = toml::to_string(&config).unwrap();
    assert!(text.contains("reading = \"seed\""));
    assert_eq!(Config::from_toml(&text).unwrap(), config);
    let mut net = Net::new();
    let x = net.input(&[1, 32]);
    net.graph.outputs = vec![net.unary(UnaryKind::Exp, x)];
    for name in [DOCUMENTS, SEED, "extended+seed"] {
        let instance = PCCX.instance(InstanceSpec::Preset(name)).unwrap();
        let program = instance.compile(&net.graph, &CompileOptions::default()).unwrap();
        assert_eq!(program.report().warnings, Vec::<String>::new());
        let files: Vec<ArtifactFile> = program.files().unwrap();
        let manifest = files.iter().find(|file| file.name.ends_with(".toml")).unwrap();
        let manifest = String::from_utf8(manifest.bytes.clone()).unwrap();
        assert_eq!(manifest.contains("reading = \"seed\""), name != DOCUMENTS, "{manifest}");
        let read = |path: &str| files.iter().find(|file| file.name == path).map(|file| file.bytes.clone());
        let read = |path: &str| read(path).ok_or_else(|| ReadError::Absent { path: path.to_owned() });
        let container = &files[0].name;
        let again = PCCX.load(container, &read).unwrap();
        assert_eq!(again.report().target, format!("pccx:{name}"));
    }
}
