//! Compiled models as files: they behave the same after reading, and damaged files are refused or
//! harmless.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use npukit_drra::internals::artifact::Model;
use npukit_drra::internals::artifact::model::{read, write};
use npukit_drra::internals::config::preset;
use npukit_drra::internals::executable::Executable;
use npukit_drra::internals::lower::{lower, prepare};
use npukit_drra::{DRRA, Revision};
use npukit_graph::op::{Binary, BinaryKind, MatMul};
use npukit_graph::{Graph, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Compiled, ReadError, TargetError, TimeOptions, resealed};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run::checked;

type Files = BTreeMap<String, Vec<u8>>;

fn load(files: &Files) -> Result<Box<dyn Compiled>, TargetError> {
    let give = |path: &str| {
        let missing = || ReadError::Absent { path: path.to_owned() };
        files.get(path.strip_prefix("d/").unwrap_or(path)).cloned().ok_or_else(missing)
    };
    DRRA.load("d/m.plan.json", &give)
}

fn files(executable: &Executable) -> Files {
    let (name, target) = ("m".to_owned(), "drra:test".to_owned());
    let model = Model::new(name, target, executable.clone(), 7);
    write(&model).unwrap().into_iter().map(|file| (file.name, file.bytes)).collect()
}

/// Returns the files with a change in one of them, and with matching hashes.
fn changed(files: &Files, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Files {
    let mut changed = files.clone();
    change(changed.get_mut(name).unwrap());
    // A plan that is damaged text has no hashes.
    if let Ok(text) = std::str::from_utf8(&changed["m.plan.json"]) {
        let plan = resealed(text, &[(&files[name], &changed[name])]).into_bytes();
        changed.insert("m.plan.json".to_owned(), plan);
    }
    changed
}

/// Writes and reads an executable.
pub fn reloaded(executable: &Executable) -> Executable {
    let files = files(executable);
    let give = |path: &str| Ok(files[path].clone());
    read("m.plan.json", &give).unwrap().executable
}

fn numbers(shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>();
    Tensor::from_f32(shape.to_vec(), (0..count).map(|index| (index * 7 % 5) as f32 - 2.0).collect()).unwrap()
}

/// `x * w + b` of small matrices.
static SMALL: LazyLock<Executable> = LazyLock::new(|| {
    let mut graph = Graph::default();
    let x = graph.add_input("x", ValueInfo { shape: vec![2, 20], element: ElementType::F32 });
    let (w, b) = (graph.add_constant("w", numbers(&[20, 3])), graph.add_constant("b", numbers(&[3])));
    let product = graph.add_node("product", MatMul.into(), vec![x, w], &["p"]).unwrap()[0];
    let sum = Binary { kind: BinaryKind::Add };
    graph.outputs = graph.add_node("sum", sum.into(), vec![product, b], &["y"]).unwrap();
    let fabric = preset("3x2").unwrap();
    let plan = lower(&fabric, &prepare(&graph).unwrap(), None).unwrap();
    Executable::new(&fabric, plan).unwrap()
});

fn inputs() -> [(String, Tensor); 1] {
    [("x".to_owned(), numbers(&[2, 20]))]
}

#[test]
fn a_compiled_model_is_read_again() {
    let (executable, files) = (&*SMALL, files(&SMALL));
    let loaded = load(&files).unwrap();
    let words = numbers(&[2, 20]).as_f32().unwrap().iter().map(|&x| x as i16).collect();
    let ran = checked(executable, &[words]);
    let result = loaded.run(&inputs()).unwrap();
    let expected: Vec<i32> = ran.values[executable.plan.outputs[0]].iter().map(|&word| word.into()).collect();
    assert_eq!(result.outputs[0].raw, expected);
    assert_eq!(loaded.inputs()[0].shape, [2, 20]);
    let time = loaded.time(&TimeOptions::default()).unwrap();
    assert_eq!(time.cycles["fabric"], executable.cycles().iter().sum::<u64>());
    assert_eq!(loaded.report().macs, Some(7));
    // Writing the loaded program gives the same files.
    let again: Files = loaded.files().unwrap().into_iter().map(|file| (file.name, file.bytes)).collect();
    assert!(again == files);
}

#[test]
fn programs_in_the_later_encoding_are_read_again() {
    let mut executable = SMALL.clone();
    let released = files(&executable);
    executable.fabric = executable.fabric.of_revision(Revision::Later);
    let later = files(&executable);
    assert_ne!(later["m_0.bin"], released["m_0.bin"]);
    let raw = |files: &Files| load(files).unwrap().run(&inputs()).unwrap().outputs[0].raw.clone();
    assert_eq!(raw(&later), raw(&released));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let whole = files(&SMALL);
    let message = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        load(&changed(&whole, name, change)).err().unwrap().to_string()
    };
    let plan = |change: &dyn Fn(&mut Value)| {
        message("m.plan.json", &|bytes| {
            let mut value: Value = serde_json::from_slice(bytes).unwrap();
            change(&mut value);
            *bytes = serde_json::to_vec(&value).unwrap();
        })
    };
    for (expected, found) in [
        ("d/m.plan.json: EOF while parsing", message("m.plan.json", &|bytes| bytes.truncate(300))),
        ("line ", message("m.plan.json", &|bytes| bytes.truncate(300))),
        ("m.arch.json: EOF", message("m.arch.json", &|bytes| bytes.truncate(300))),
        ("m.constants.bin: 1 bytes; the plan has", message("m.constants.bin", &|bytes| bytes.truncate(1))),
        (
            "m_0.bin: line 2: `01` is neither",
            message("m_0.bin", &|bytes| *bytes = b"cell 0 0\n01\n".to_vec()),
        ),
        ("m_0.bin: takes 3 cycles; the plan has", message("m_0.bin", &|bytes| bytes.clear())),
        ("m_0.bin: byte 0 is not UTF-8", message("m_0.bin", &|bytes| bytes[0] = 0xff)),
        ("m_0.bin: cell (9, 0) does not exist", message("m_0.bin", &|bytes| bytes[5] = b'9')),
        ("this version of npukit reads `npukit-drra-2`", plan(&|p| p["format"] = json!("npukit-drra-9"))),
        ("unknown field `color`", plan(&|p| p["color"] = json!(1))),
        ("an input or output is value 99; the plan has", plan(&|p| p["plan"]["inputs"] = json!([99]))),
        ("`product`: its result is value 99", plan(&|p| p["plan"]["steps"][0]["result"] = json!(99))),
        (
            "`product`: task 0: an operand reaches element 39 of source 0, which has 38",
            plan(&|p| p["plan"]["values"][0]["shape"] = json!([2, 19])),
        ),
        (
            "`sum`: task 0: its results reach element 5 of value",
            plan(&|p| {
                let output = p["plan"]["outputs"][0].as_u64().unwrap() as usize;
                p["plan"]["values"][output]["shape"] = json!([5]);
            }),
        ),
        (
            "`product`: task 0: value 0 is read before a step computes it",
            plan(&|p| p["plan"]["inputs"] = json!([])),
        ),
        ("no step computes output 1", plan(&|p| p["plan"]["outputs"] = json!([1]))),
        (
            "call 0: results up to 1006 are taken; the task has 6",
            plan(&|p| p["calls"][0][0][0]["results"][0]["first"] = json!(1000)),
        ),
        ("have more than", plan(&|p| p["plan"]["values"][0]["shape"] = json!([1_u64 << 40, 9]))),
        ("calls of 0 steps; the plan has 2", plan(&|p| p["calls"] = json!([]))),
        ("a call is of kernel 77; the plan has", plan(&|p| p["calls"][0][0][0]["kernel"] = json!(77))),
        (
            "call 0: 1 rows of 2000 operands",
            plan(&|p| {
                p["calls"][0][0][0]["loads"][0] =
                    json!({ "operands": vec![0; 2000], "vectors": {"start": 0, "end": 1}, "rows": 1 })
            }),
        ),
        (
            "vectors 0..9 are loaded; the operand has",
            plan(&|p| p["calls"][0][0][0]["loads"][0]["vectors"] = json!({"start": 0, "end": 9})),
        ),
        ("the plan has 1", plan(&|p| p["kernels"][0]["cycles"] = json!(1))),
        (
            "unknown dpu mode `mca`",
            plan(&|p| p["kernels"][1]["kernel"]["kind"]["stream"]["work"]["mode"] = json!("mca")),
        ),
        ("is not a plain file name", plan(&|p| p["architecture"] = json!("../x"))),
        ("cannot read `d/gone`", plan(&|p| p["kernels"][0]["pasm"] = json!("gone"))),
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// A file of another compilation with equal sizes is refused.
#[test]
fn files_of_two_compilations_are_refused() {
    let ours = files(&SMALL);
    for name in ours.keys().filter(|name| *name != "m.plan.json") {
        let mut mixed = ours.clone();
        mixed.get_mut(name).unwrap().iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        let error = load(&mixed).err().unwrap().to_string();
        assert!(error.starts_with(&format!("`{name}` is not the file that `d/m.plan.json`")), "{error}");
    }
}

/// The message on a changed plan does not depend on its contents.
#[test]
fn every_changed_byte_of_a_plan_is_refused() {
    let files = files(&SMALL);
    let plan = &files["m.plan.json"];
    for place in (0..plan.len()).step_by(7) {
        let mut changed = files.clone();
        changed.get_mut("m.plan.json").unwrap()[place] ^= 1;
        assert!(load(&changed).is_err(), "byte {place}");
    }
    let without = |key: &str| {
        let found = changed(&files, "m.plan.json", |bytes| {
            let mut value: Value = serde_json::from_slice(bytes).unwrap();
            assert!(value.as_object_mut().unwrap().remove(key).is_some());
            *bytes = serde_json::to_vec(&value).unwrap();
        });
        load(&found).err().unwrap().to_string()
    };
    for key in ["digest", "sha256"] {
        assert!(without(key).contains(&format!("missing field `{key}`")), "{}", without(key));
    }
    let empty = changed(&files, "m.plan.json", |bytes| {
        let mut value: Value = serde_json::from_slice(bytes).unwrap();
        value["sha256"] = json!({});
        *bytes = serde_json::to_vec(&value).unwrap();
    });
    assert!(load(&empty).err().unwrap().to_string().contains("is not a file that"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_files_are_refused_or_run(file in 0..100_usize, at in 0..1_000_000_usize, byte in 0..256_usize) {
        let whole = files(&SMALL);
        let name = whole.keys().nth(file % whole.len()).unwrap();
        let files = changed(&whole, name, |bytes| {
            let at = at % bytes.len().max(1);
            // The change is a flipped bit, another digit, or a truncated file.
            match byte {
                0..64 => bytes.truncate(at),
                64..160 => bytes.iter_mut().skip(at).take(1).for_each(|place| *place ^= 1 << (byte % 8)),
                _ => {
                    let digit = bytes.iter_mut().skip(at).find(|place| place.is_ascii_digit());
                    digit.into_iter().for_each(|place| *place = b'0' + (byte % 10) as u8);
                }
            }
        });
        if let Ok(loaded) = load(&files) {
            let _ = loaded.time(&TimeOptions::default()).unwrap();
            let _ = loaded.run(&inputs());
        }
    }
}
