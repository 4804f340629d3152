//! Unusual architectures: they are refused with a reason, or compile and run; never a panic.

use std::sync::LazyLock;

use npukit::InputFile;
use npukit::verbs::isa::isa;
use npukit::verbs::run::{Request, run};
use proptest::prelude::*;

use crate::memory::{Memory, digits};

static GOOD: LazyLock<Memory> = LazyLock::new(Memory::with_digits);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn architectures_are_refused_or_work(
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
        let mut files = GOOD.clone();
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
