//! Broken files of every kind: an error or an answer, never a panic.

use std::sync::OnceLock;

use npukit::verbs::Source;
use npukit::verbs::asm::{asm, disasm};
use npukit::verbs::isa::isa;
use npukit::verbs::run::{Request, run};
use npukit::verbs::time::time;
use npukit::{Error, InputFile};
use proptest::prelude::*;

use crate::memory::{Memory, digits};

const MANIFEST: &str = "digits_onnx_pynqz1.tmodel";

fn good() -> &'static Memory {
    static GOOD: OnceLock<Memory> = OnceLock::new();
    GOOD.get_or_init(Memory::with_digits)
}

/// What happens to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Change(Vec<(prop::sample::Index, u8)>),
    Replace(Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4).prop_map(Damage::Change),
        prop::collection::vec(any::<u8>(), 0..100).prop_map(Damage::Replace),
    ]
}

fn damaged(file: &str, damage: Damage) -> Memory {
    let mut files = good().clone();
    let bytes = files.0.get_mut(file).unwrap();
    match damage {
        Damage::Cut(place) => bytes.truncate(place.index(bytes.len())),
        Damage::Change(changes) => {
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        Damage::Replace(new) => *bytes = new,
    }
    files
}

fn run_artifact(files: &Memory, input: &str) -> Result<(), Error> {
    let source = Source { path: MANIFEST.into(), ..Source::default() };
    time(&source, files.context())?;
    let inputs = vec![InputFile::parse(input)];
    run(&Request { source, inputs, raw: true, ..Request::default() }, files.context()).map(|_| ())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn artifacts(
        file in prop::sample::select(vec!["tmodel", "tprog", "tdata", "npukit.json"]),
        damage in damage(),
    ) {
        let name = format!("digits_onnx_pynqz1.{file}");
        if let Err(error) = run_artifact(&damaged(&name, damage), "x.npy") {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn arrays(damage in damage()) {
        if let Err(error) = run_artifact(&damaged("x.npy", damage), "x.npy") {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn texts_of_vectors(text in "([-0-9.e,\r\n ]|nan|inf){0,200}") {
        let mut files = good().clone();
        files.0.insert("x.csv".into(), text.into_bytes());
        if let Err(error) = run_artifact(&files, "x.csv") {
            let text = error.to_string();
            prop_assert!(text.contains("x.csv") || text.contains("image"), "{}", text);
        }
    }

    #[test]
    fn models(damage in damage()) {
        let files = damaged("digits.onnx", damage);
        let inputs = vec![InputFile::parse("x.npy")];
        let request = Request { source: digits("tcu"), inputs, ..Request::default() };
        if let Err(error) = run(&request, files.context()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn programs_alone(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut files = Memory::default();
        files.0.insert("p.tprog".into(), bytes.clone());
        let listing = disasm("p.tprog", "tcu", None, files.context()).unwrap();
        disasm("p.tprog", "tcu", Some("upstream"), files.context()).unwrap();
        // What was read, in part as `.word`, assembles to the same whole instructions.
        files.0.insert("p.s".into(), listing.text.into_bytes());
        let (_, words) = asm("p.s", "tcu", files.context()).unwrap();
        prop_assert_eq!(&words[..], &bytes[..bytes.len() / 8 * 8]);
    }

    #[test]
    fn sources(text in "(matmul|datamove|simd|noop|local|acc|dram0|[\\[\\]@^,.;0-9a-z<>\\-\n ]){0,40}") {
        let mut files = Memory::default();
        files.0.insert("p.s".into(), text.into_bytes());
        let _ = asm("p.s", "tcu", files.context());
    }

    #[test]
    fn architectures(
        key in prop::sample::select(vec![
            "array_size", "dram0_depth", "dram1_depth", "local_depth", "accumulator_depth",
            "simd_registers_depth", "stride0_depth", "number_of_threads", "data_type", "lookup_tables",
        ]),
        value in prop_oneof![
            any::<i64>().prop_map(|v| v.to_string()),
            (0u32..64).prop_map(|bits| (1u64 << bits).to_string()),
            Just("\"FLOAT32\"".to_owned()), Just("null".to_owned()), Just("1e300".to_owned()),
        ],
    ) {
        let mut arch: serde_json::Value = serde_json::from_str(ARCH).unwrap();
        arch[key] = serde_json::from_str(&value).unwrap();
        let mut files = good().clone();
        files.0.insert("a.tarch".into(), arch.to_string().into_bytes());
        match isa("tcu:a.tarch", None, files.context()) {
            Err(error) => prop_assert!(error.to_string().contains("a.tarch"), "{}", error),
            Ok(_) => {
                let inputs = vec![InputFile::parse("x.npy")];
                let request = Request { source: digits("tcu:a.tarch"), inputs, ..Request::default() };
                let _ = run(&request, files.context());
            }
        }
    }
}

const ARCH: &str = r#"{"data_type":"FP16BP8","array_size":8,"dram0_depth":1048576,"dram1_depth":1048576,
"local_depth":8192,"accumulator_depth":2048,"simd_registers_depth":1,"stride0_depth":8,"stride1_depth":8}"#;
