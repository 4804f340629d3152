//! Artifacts: published artifacts are reproduced byte by byte, and damaged artifacts are refused
//! with the location of the damage.

use std::collections::HashMap;

use npukit_graph::op::{GeluForm, LogSoftmax, Softmax, UnaryKind};
use npukit_target::{ReadError, resealed};
use npukit_tcu::internals::artifact::{ArtifactError, read, write};
use npukit_tcu::internals::op::{DataMoveKind, Strided};
use npukit_tcu::internals::program::{
    Binding, HostOp, HostStep, Layer, Layout, MemoryUse, Piece, Program, Usage,
};
use npukit_tcu::{Config, Op};
use proptest::prelude::*;

use npukit_testing::{needs, shared};

type Files = HashMap<String, Vec<u8>>;

fn read_from(files: &Files, manifest: &str) -> Result<Program, ArtifactError> {
    let mut resolve =
        |name: &str| files.get(name).cloned().ok_or_else(|| ReadError::Absent { path: name.to_owned() });
    read(manifest, &files.get(manifest).cloned().unwrap_or_default(), &mut resolve)
}

fn files_of(program: &Program) -> Files {
    write(program).unwrap().into_iter().map(|file| (file.name, file.bytes)).collect()
}

const SIDECAR: &str = "net_pynqz1.npukit.json";

/// Returns the files with a change in one of them, and hashes that match the changed files, so that
/// the change itself is examined.
fn changed(mut files: Files, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> Files {
    let before = files[file].clone();
    change(files.get_mut(file).unwrap());
    // If the change makes the file invalid text, the file has no hashes to update.
    if let Ok(text) = String::from_utf8(files[SIDECAR].clone()) {
        let after = files[file].clone();
        files.insert(SIDECAR.to_owned(), resealed(&text, &[(&before, &after)]).into_bytes());
    }
    files
}

/// Like [`changed`], replacing text of the file.
fn replaced(files: Files, file: &str, from: &str, to: &str) -> Files {
    changed(files, file, |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        *bytes = text.replacen(from, to, 1).into_bytes();
    })
}

/// Returns a program with content in every part.
fn sample() -> Program {
    let config = Config::preset("pynqz1").unwrap();
    let at = |address| Strided { address, stride_log2: 0 };
    let kind = DataMoveKind::Dram0ToLocal;
    let layout = Layout { model_shape: vec![1, 9, 2, 2], perm: vec![0, 2, 3, 1], channels: 9, exponent: 0 };
    Program {
        name: "net_pynqz1".into(),
        instructions: vec![
            Op::NoOp,
            Op::DataMove { kind, local: at(3), other: at(5), size: 8 },
            Op::LoadWeights { zeroes: false, local: at(0), size: 9 },
        ],
        constants: (0..24).map(|i| i * 37 - 300).collect(),
        load_consts_to_local: true,
        inputs: vec![Binding {
            name: "x".into(),
            pieces: vec![Piece { base: 0, size: 3 }, Piece { base: 7, size: 5 }],
            layout: Some(layout),
        }],
        outputs: vec![Binding {
            name: "y".into(),
            pieces: vec![Piece { base: 3, size: 1 }],
            layout: Some(Layout { model_shape: vec![1, 5], perm: vec![0, 1], channels: 5, exponent: 0 }),
        }],
        host_steps: vec![HostStep {
            node: "soft".into(),
            output: "y".into(),
            op: HostOp::LogSoftmax(LogSoftmax { axis: 1, axis_end: 2 }),
            reason: "no exp".into(),
        }],
        layers: vec![Layer { name: "conv+relu".into(), first: 1, count: 2, macs: 7 }],
        memory: MemoryUse { local: Usage { maximum: 4, aggregate: 5 }, ..MemoryUse::default() },
        system: None,
        reading: [("batch".to_owned(), 4.into())].into_iter().collect(),
        config,
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn published_artifacts_come_back_byte_by_byte() {
    for (folder, name) in [
        ("resnet20v2_zcu104", "resnet20v2_cifar_onnx_zcu104"),
        ("speech_commands", "speech_commands_onnx_speech_robot"),
    ] {
        let folder = shared(&format!("golden/tcu/programs/{folder}"));
        let files: Files = ["tmodel", "tprog", "tdata"]
            .map(|ext| format!("{name}.{ext}"))
            .map(|file| (file.clone(), std::fs::read(folder.join(file)).unwrap()))
            .into();
        let program = read_from(&files, &format!("{name}.tmodel")).unwrap();
        assert_eq!(program.name, name);
        let written = files_of(&program);
        for (file, bytes) in &files {
            assert!(upstream_bytes(file, bytes) == written[file], "{file}");
        }
    }
}

/// Returns the bytes that npukit writes for a published file: a key missing in older manifests is
/// always present.
fn upstream_bytes(file: &str, bytes: &[u8]) -> Vec<u8> {
    let has_key = String::from_utf8_lossy(bytes).contains("load_consts_to_local");
    if !file.ends_with(".tmodel") || has_key {
        return bytes.to_vec();
    }
    let text = std::str::from_utf8(bytes).unwrap().trim_end();
    format!("{},\"load_consts_to_local\":false}}", text.strip_suffix('}').unwrap()).into_bytes()
}

#[test]
fn a_program_comes_back_with_everything() {
    let program = sample();
    assert_eq!(read_from(&files_of(&program), "net_pynqz1.tmodel").unwrap(), program);
}

#[test]
fn without_our_own_file_tensors_are_vectors() {
    let program = sample();
    let mut files = files_of(&program);
    files.remove("net_pynqz1.npukit.json").unwrap();
    let read = read_from(&files, "net_pynqz1.tmodel").unwrap();
    assert_eq!(read.instructions, program.instructions);
    assert_eq!(read.inputs[0].pieces, program.inputs[0].pieces);
    assert_eq!((read.inputs[0].layout.clone(), read.layers.len()), (None, 0));
}

/// Reads [`sample`] with one text of its manifest replaced.
fn error_with(from: &str, to: &str) -> String {
    let mut files = files_of(&sample());
    let manifest = String::from_utf8(files["net_pynqz1.tmodel"].clone()).unwrap();
    assert!(manifest.contains(from), "{from} in {manifest}");
    files.insert("net_pynqz1.tmodel".into(), manifest.replacen(from, to, 1).into_bytes());
    files.remove("net_pynqz1.npukit.json");
    let error = read_from(&files, "net_pynqz1.tmodel").unwrap_err();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

#[test]
fn errors_name_file_key_and_what_is_legal() {
    for (from, to, expected) in [
        ("\"size\":24", "\"size\":25", "net_pynqz1.tprog: 24 bytes instead of 25 (key `prog.size`"),
        (
            "\"base\":0,\"size\":3}],\"inputs\"",
            "\"base\":0,\"size\":4}],\"inputs\"",
            "48 bytes instead of 64",
        ),
        (
            "\"base\":0,\"size\":3}],\"inputs\"",
            "\"base\":1,\"size\":3}],\"inputs\"",
            "`consts[0].base`: is 1, must be 0",
        ),
        (
            "\"base\":7,\"size\":5",
            "\"base\":1048573,\"size\":5",
            "`inputs[1]`: vectors 1048573 to 1048577 exceed DRAM0",
        ),
        ("\"base\":7,\"size\":5", "\"base\":18446744073709551615,\"size\":5", "exceed DRAM0"),
        (
            "\"base\":7,\"size\":5",
            "\"base\":-7,\"size\":5",
            "`inputs[1].base`: is -7, must be a whole number",
        ),
        ("\"base\":7,\"size\":5", "\"base\":7", "`inputs[1].size`: is missing"),
        ("\"base\":7,\"size\":5", "\"base\":7,\"size\":0", "must be at least 1 vector"),
        ("net_pynqz1.tprog", "../net_pynqz1.tprog", "`../net_pynqz1.tprog` is not a plain file name"),
        ("net_pynqz1.tdata", "other.tdata", "cannot read `other.tdata`"),
        ("\"array_size\":8,", "", "`array_size` is missing"),
        ("\"load_consts_to_local\":true", "\"load_consts_to_local\":1", "is 1, must be true or false"),
        ("\"consts\":[", "\"consts\":[{},", "has 2 entries, but drivers take exactly one"),
        ("{\"name\"", "{name", "not JSON: key must be a string at line 1 column 2"),
    ] {
        let text = error_with(from, to);
        assert!(text.contains(expected), "{to}: {text}");
    }
}

/// Files of two compilations with equal sizes.
#[test]
fn files_of_two_compilations_are_refused() {
    let ours = files_of(&sample());
    let constants = (0..24).map(|i| i * 11 + 5).collect();
    let mut instructions = sample().instructions;
    instructions.swap(0, 1);
    let mut inputs = sample().inputs;
    inputs[0].pieces[1].base += 64;
    let theirs = files_of(&Program { constants, instructions, inputs, ..sample() });
    for (file, bytes) in &theirs {
        assert_ne!(ours[file], *bytes, "{file}");
        let mut mixed = ours.clone();
        mixed.insert(file.clone(), bytes.clone());
        let error = read_from(&mixed, "net_pynqz1.tmodel").unwrap_err().to_string();
        assert!(error.contains("the files come from different compilations"), "{file}: {error}");
        let named = if file.ends_with("npukit.json") { "net_pynqz1.tmodel" } else { file };
        assert!(error.starts_with(&format!("`{named}` is not the file that")), "{file}: {error}");
    }
}

/// Without its layouts the program would run on wrong tensors.
#[test]
fn only_an_absent_sidecar_may_be_missing() {
    let files = files_of(&sample());
    let read_with = |sidecar: Result<&[u8], ReadError>| {
        let mut resolve = |name: &str| match name {
            "net_pynqz1.npukit.json" => sidecar.clone().map(<[u8]>::to_vec),
            name => Ok(files[name].clone()),
        };
        read("net_pynqz1.tmodel", &files["net_pynqz1.tmodel"], &mut resolve)
    };
    let path = || "net_pynqz1.npukit.json".to_owned();
    let plain = read_with(Err(ReadError::Absent { path: path() })).unwrap();
    assert!(plain.layers.is_empty() && plain.inputs[0].layout.is_none());
    let denied = ReadError::Unreadable { path: path(), reason: "denied".to_owned() };
    let error = read_with(Err(denied)).unwrap_err().to_string();
    assert_eq!(error, "cannot read `net_pynqz1.npukit.json`: denied");
    let whole = &files[&path()];
    for damaged in [&b""[..], b"\0", &whole[..whole.len() / 2], &whole[..whole.len() - 1], b"{}", b"[]"] {
        let error = read_with(Ok(damaged)).unwrap_err().to_string();
        assert!(error.starts_with("net_pynqz1.npukit.json: "), "{error}");
    }
}

/// Tensil's Python driver converts objects to named tuples, which accept no other keys. Source:
/// `drivers/tcu_pynq/model.py` of tensil-ai/tensil.
#[test]
fn the_manifest_has_the_keys_of_upstream_alone() {
    let manifest: serde_json::Value =
        serde_json::from_slice(&files_of(&sample())["net_pynqz1.tmodel"]).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let all = ["arch", "consts", "inputs", "load_consts_to_local", "name", "outputs", "prog"];
    let mut found = keys(&manifest);
    found.sort();
    assert_eq!(found, all);
    assert_eq!(keys(&manifest["prog"]), ["file_name", "size"]);
    assert_eq!(keys(&manifest["inputs"][0]).len(), 3);
}

#[test]
fn unknown_keys_are_ignored() {
    let (from, to) = ("{\"name\"", "{\"later\":[1,{}],\"name\"");
    let files = replaced(files_of(&sample()), "net_pynqz1.tmodel", from, to);
    assert_eq!(read_from(&files, "net_pynqz1.tmodel").unwrap(), sample());
}

#[test]
fn our_own_file_must_agree_with_the_manifest() {
    for (from, to) in [
        ("\"channels\":9", "\"channels\":18"),
        ("\"count\":2", "\"count\":3"),
        ("\"output\":\"y\"", "\"output\":\"z\""),
        ("\"perm\":[0,2,3,1]", "\"perm\":[0,2,3,3]"),
    ] {
        let files = replaced(files_of(&sample()), SIDECAR, from, to);
        let error = read_from(&files, "net_pynqz1.tmodel").unwrap_err().to_string();
        assert!(error.contains("does not match the .tmodel"), "{error}");
    }
}

/// The error about a changed file does not depend on its content.
#[test]
fn every_changed_byte_of_our_own_file_is_refused() {
    let files = files_of(&sample());
    for place in 0..files[SIDECAR].len() {
        for bit in [0, 2, 5] {
            let mut other = files.clone();
            other.get_mut(SIDECAR).unwrap()[place] ^= 1 << bit;
            assert!(read_from(&other, "net_pynqz1.tmodel").is_err(), "byte {place}, bit {bit}");
        }
    }
    for key in ["digest", "sha256"] {
        let other = changed(files.clone(), SIDECAR, |bytes| {
            let mut value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            assert!(value.as_object_mut().unwrap().remove(key).is_some());
            *bytes = serde_json::to_vec(&value).unwrap();
        });
        let error = read_from(&other, "net_pynqz1.tmodel").unwrap_err().to_string();
        assert!(error.starts_with(SIDECAR) && error.contains(key), "{error}");
    }
    let empty = changed(files, SIDECAR, |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = text.replacen("\"sha256\":{", "\"sha256\":{},\"other\":{", 1).into_bytes();
    });
    let error = read_from(&empty, "net_pynqz1.tmodel").unwrap_err().to_string();
    assert!(error.contains("is not a file that"), "{error}");
}

#[test]
fn constants_must_fill_vectors() {
    let program = Program { constants: vec![1; 25], ..sample() };
    let error = write(&program).unwrap_err().to_string();
    assert!(error.contains("25 scalars do not fill vectors of 8"), "{error}");
}

/// A file of an artifact and the place of the damage.
fn damage() -> impl Strategy<Value = (&'static str, usize, u8, bool)> {
    let file = prop_oneof![
        Just("net_pynqz1.tmodel"),
        Just("net_pynqz1.tprog"),
        Just("net_pynqz1.tdata"),
        Just("net_pynqz1.npukit.json"),
    ];
    (file, any::<prop::sample::Index>().prop_map(|i| i.index(1 << 20)), any::<u8>(), any::<bool>())
}

/// Every operator that a host step can have is read back; others are refused.
#[test]
fn host_steps_come_back() {
    let kinds = [
        UnaryKind::Sigmoid,
        UnaryKind::Erf,
        UnaryKind::Swish { alpha: 0.1 },
        UnaryKind::Gelu { form: GeluForm::Exact },
        UnaryKind::Gelu { form: GeluForm::Tanh },
        UnaryKind::Elu { alpha: 0.3 },
        UnaryKind::Celu { alpha: 1e-7 },
        UnaryKind::Selu { alpha: 1.673_263_2, gamma: 1.050_701 },
    ];
    let softmax = HostOp::Softmax(Softmax { axis: 0, axis_end: 2 });
    for op in kinds.into_iter().map(HostOp::from).chain([softmax]) {
        let mut program = sample();
        program.host_steps[0].op = op;
        assert_eq!(read_from(&files_of(&program), "net_pynqz1.tmodel").unwrap(), program);
    }
    for (from, to, key) in [
        ("\"LogSoftmax\"", "\"Conv\"", "host_steps[0].op"),
        ("\"LogSoftmax\"", "\"Elu\"", "host_steps[0].alpha"),
        ("\"LogSoftmax\"", "\"Gelu\"", "host_steps[0].approximate"),
        ("\"axis_end\":2", "\"axis_end\":3", "host_steps[0].axis_end"),
    ] {
        let files = replaced(files_of(&sample()), SIDECAR, from, to);
        let error = read_from(&files, "net_pynqz1.tmodel").unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}

proptest! {
    /// Any axis order and any number of lanes: unpacking reverses packing, and unused lanes are
    /// zero.
    #[test]
    fn layouts_come_back(
        model_shape in prop::collection::vec(1usize..5, 0..5),
        order in any::<prop::sample::Index>(),
        lanes in 1usize..9,
    ) {
        let mut perm: Vec<usize> = (0..model_shape.len()).collect();
        perm.rotate_left(order.index(model_shape.len().max(1)));
        let channels = perm.last().map_or(1, |&axis| model_shape[axis]);
        let raw: Vec<i32> = (1..=model_shape.iter().product::<usize>() as i32).collect();
        let layout = Layout { model_shape, perm, channels, exponent: 0 };
        let packed = layout.pack(&raw, lanes).unwrap();
        prop_assert_eq!(packed.len(), layout.vectors(lanes).unwrap() * lanes);
        prop_assert_eq!(packed.iter().filter(|&&value| value != 0).count(), raw.len());
        prop_assert_eq!(layout.unpack(&packed, lanes).unwrap(), raw);
    }

    /// A truncated file or a changed byte gives an error that names the file, or another program.
    #[test]
    fn damage_never_panics((file, place, byte, cut) in damage(), checked in any::<bool>()) {
        let mut files = files_of(&sample());
        let change = |bytes: &mut Vec<u8>| {
            let place = place % bytes.len();
            if cut { bytes.truncate(place) } else { bytes[place] = byte }
        };
        if checked { change(files.get_mut(file).unwrap()) } else { files = changed(files, file, change) }
        match read_from(&files, "net_pynqz1.tmodel") {
            // An address beyond its memory can be read, but not written.
            Ok(program) => drop(write(&program)),
            // The changed byte may be part of the name, which the message quotes.
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.contains("net") || text.contains("pynqz1"), "{}", text);
            }
        }
    }

    /// Random bytes in place of any of the files.
    #[test]
    fn random_files_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        file in prop::sample::select(vec!["net_pynqz1.tmodel", "net_pynqz1.tprog", "net_pynqz1.tdata"]),
    ) {
        let files = changed(files_of(&sample()), file, |content| *content = bytes);
        let _ = read_from(&files, "net_pynqz1.tmodel");
    }
}
