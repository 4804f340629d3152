//! `.tarch` files.

use npukit_target::InstanceSpec;
use npukit_tcu::internals::config::{Board, ConfigErrors, ConfigWarning, System};
use npukit_tcu::{Config, DataType, Overlap, Reading, TCU};
use proptest::prelude::*;

/// A file as Tensil writes it, with the eleven keys.
const PYNQZ1: &str = "{
  \"data_type\": \"FP16BP8\",
  \"array_size\": 8,
  \"dram0_depth\": 1048576,
  \"dram1_depth\": 1048576,
  \"local_depth\": 8192,
  \"accumulator_depth\": 2048,
  \"simd_registers_depth\": 1,
  \"stride0_depth\": 8,
  \"stride1_depth\": 8,
  \"number_of_threads\": 1,
  \"thread_queue_depth\": 8
}
";

fn errors(text: &str) -> String {
    Config::from_json(text).unwrap_err().to_string()
}

#[test]
fn presets_are_the_published_boards() {
    // Name, N, DRAM0, DRAM1, local, accumulators, instruction bytes: specification 2.1. The boards
    // that are not published are artyz720, kv260, pynqz2, ulx3s and ulx3s_85f.
    let boards = [
        ("artya7100t", 8, 1_048_576, 1_048_576, 8192, 2048, 8),
        ("artya735t", 8, 1_048_576, 1_048_576, 8192, 2048, 8),
        ("artyz720", 8, 1_048_576, 1_048_576, 8192, 2048, 8),
        ("cmoda7", 4, 4096, 32768, 4096, 4096, 8),
        ("kv260", 32, 2_097_152, 2_097_152, 24576, 8192, 9),
        ("pynqz1", 8, 1_048_576, 1_048_576, 8192, 2048, 8),
        ("pynqz1_12x12", 12, 1_048_576, 1_048_576, 8192, 2048, 8),
        ("pynqz2", 8, 1_048_576, 1_048_576, 8192, 2048, 8),
        ("speech_robot", 8, 131_072, 131_072, 8192, 2048, 8),
        ("ulx3s", 8, 524_288, 1_048_576, 8192, 2048, 8),
        ("ulx3s_85f", 8, 524_288, 1_048_576, 8192, 2048, 8),
        ("ultra96v2", 16, 2_097_152, 2_097_152, 20480, 4096, 9),
        ("zcu104", 32, 2_097_152, 2_097_152, 16384, 4096, 9),
        ("zcu104_uram", 32, 2_097_152, 2_097_152, 49152, 20480, 9),
    ];
    assert_eq!(Config::presets().collect::<Vec<_>>(), boards.map(|board| board.0));
    for (name, n, dram0, dram1, local, accumulators, bytes) in boards {
        let config = Config::preset(name).unwrap();
        let depths = (config.dram0_depth, config.dram1_depth, config.local_depth, config.accumulator_depth);
        assert_eq!(config.array_size, n, "{name}");
        assert_eq!(depths, (dram0, dram1, local, accumulators), "{name}");
        assert_eq!(config.layout().instruction_bytes(), bytes, "{name}");
        assert_eq!((config.stride0_depth, config.stride1_depth, config.simd_registers_depth), (8, 8, 1));
    }
    assert_eq!(Config::preset("pynqz3"), None);
}

/// Clock and bus: specification 10.2 and 10.4.
#[test]
fn systems_are_the_published_ones() {
    let measured = "published with Tensil's ResNet-20 measurement";
    let speech = "published with Tensil's speech commands measurement";
    let table = "published in Tensil's benchmark table";
    let same_part = "published with Tensil's ResNet-20 measurement on the PYNQ-Z1, which has the same FPGA";
    // All latencies are 180 ns: 18 cycles at 100 MHz, 27 at 150 MHz and 54 at 300 MHz.
    let systems = [
        ("artya7100t", "", None, None, None, None),
        ("artya735t", "", Some(150.0), Some(128), Some(27), Some(table)),
        ("artyz720", "", Some(50.0), None, None, Some(same_part)),
        ("cmoda7", "", None, None, None, None),
        ("kv260", "", None, None, None, None),
        ("pynqz1", "", Some(50.0), None, None, Some(measured)),
        ("pynqz1_12x12", "", Some(150.0), Some(64), Some(27), Some(table)),
        ("pynqz2", "", Some(50.0), None, None, Some(same_part)),
        ("speech_robot", "", Some(50.0), None, None, Some(speech)),
        ("ulx3s_85f", "", None, None, None, None),
        ("ultra96v2", "", Some(100.0), None, None, Some(measured)),
        ("ultra96v2", "300mhz", Some(300.0), Some(128), Some(54), Some(table)),
        ("zcu104", "", Some(100.0), Some(128), Some(18), Some(measured)),
        ("zcu104", "512bit", Some(100.0), Some(512), Some(18), Some(measured)),
        ("zcu104_uram", "", Some(100.0), None, None, Some(measured)),
        ("zcu104_uram", "512bit", Some(100.0), Some(512), Some(18), Some(measured)),
    ];
    let mut found = Vec::new();
    // The system of the ULX3S is npukit's own design, so it is skipped.
    for name in Config::presets().filter(|name| *name != "ulx3s") {
        let Board { system, systems, .. } = Board::preset(name).unwrap();
        found.push((name, String::new(), system));
        found.extend(systems.into_iter().map(|(system, stated)| (name, system.into(), stated)));
    }
    for (_, _, system) in &mut found {
        let memory = system.memory_source.take();
        assert_eq!(
            memory.is_some(),
            system.dram_latency_cycles.is_some(),
            "a latency has a source: {system:?}"
        );
    }
    let system = |clock_mhz, axi_width_bits, dram_latency_cycles, source: Option<&str>| System {
        clock_mhz,
        axi_width_bits,
        dram_latency_cycles,
        source: source.map(str::to_owned),
        ..System::default()
    };
    let expected = systems.map(|(name, of, mhz, bits, latency, source)| {
        (name, of.to_owned(), system(mhz, bits, latency, source))
    });
    assert_eq!(found, expected);
}

#[test]
fn files_are_written_as_upstream_orders_them() {
    let config = Config::preset("pynqz1").unwrap();
    assert_eq!(config.to_json(), PYNQZ1);
    let lookup = Config { simd_registers_depth: 2, lookup_tables: 2, ..config };
    assert!(lookup.to_json().ends_with("\"thread_queue_depth\": 8,\n  \"lookup_tables\": 2\n}\n"));
    assert_eq!(Config::from_json(&lookup.to_json()).unwrap(), (lookup, Vec::new()));
}

#[test]
fn what_the_pages_table_has_not_is_warned_of() {
    let message = |name: &str| TCU.instance(InstanceSpec::Preset(name)).unwrap().info().warnings.clone();
    assert_eq!(message("cmoda7,array_size=256,local_depth=65536"), Vec::<String>::new());
    let wanted = [
        "`array_size` is 257: the specification's table of parameters has 2 to 256",
        "`local_depth` is 131072: the specification's table of parameters has 2 to 65536",
    ];
    assert_eq!(message("cmoda7,array_size=257,local_depth=131072"), wanted);
    assert_eq!(message("cmoda7,array_size=1,local_depth=1").len(), 2);
}

#[test]
fn old_files_are_read_and_strange_keys_warned_of() {
    let short = PYNQZ1.replace("\"number_of_threads\": 1,", "\"color\": [1, {}],");
    let short = short.replace(",\n  \"thread_queue_depth\": 8", "");
    let (config, warnings) = Config::from_json(&short).unwrap();
    assert_eq!(config, Config::preset("pynqz1").unwrap());
    assert_eq!(warnings, [ConfigWarning::UnknownKey { key: "color".to_owned() }]);
}

#[test]
fn the_misprinted_data_type_is_accepted_with_a_warning() {
    let (config, warnings) = Config::from_json(&PYNQZ1.replace("FP16BP8", "FP32B16")).unwrap();
    assert_eq!(config.data_type, DataType::Fp32Bp16);
    let meant = DataType::Fp32Bp16;
    assert_eq!(warnings, [ConfigWarning::OldDataTypeName { found: "FP32B16".to_owned(), meant }]);
    assert!(config.to_json().contains("\"FP32BP16\""), "the misprint is never written");
}

#[test]
fn every_bad_key_is_named_at_once() {
    let text = r#"{
        "data_type": "FP12", "array_size": 0, "dram0_depth": -4, "dram1_depth": 1e30,
        "local_depth": 8192.5, "accumulator_depth": "many", "simd_registers_depth": 17,
        "stride0_depth": null, "number_of_threads": 3, "lookup_tables": 99999999999999999999
    }"#;
    let depth = "but must be an integer from 1 to 4611686018427387904";
    let expected = [
        "`data_type` is \"FP12\", but must be one of FP8BP4, FP16BP8, FP18BP10, FP32BP16, FLOAT32",
        "`array_size` is 0, but must be an integer from 1 to 1024",
        &format!("`dram0_depth` is -4, {depth}"),
        &format!("`dram1_depth` is 1e+30, {depth}"),
        &format!("`local_depth` is 8192.5, {depth}"),
        &format!("`accumulator_depth` is \"many\", {depth}"),
        "`simd_registers_depth` is 17, but must be an integer from 0 to 16",
        "`stride0_depth` is null, but must be an integer from 1 to 32",
        "`stride1_depth` is missing: give an integer from 1 to 32",
        "`number_of_threads` is 3, but must be an integer from 1 to 2",
        "`lookup_tables` is 1e+20, but must be an integer from 0 to 16",
    ];
    assert_eq!(errors(text), expected.join("\n"));
}

#[test]
fn what_is_no_object_is_refused() {
    assert_eq!(errors("{\n  \"a\": }"), "not JSON: expected value (line 2, column 8)");
    assert_eq!(errors("[1]"), "an architecture is a JSON object of keys and values, not [1]");
    assert!(errors("").starts_with("not JSON: EOF"));
    assert!(errors(&"[".repeat(100_000)).starts_with("not JSON: recursion limit"));
}

#[test]
fn lookups_need_registers() {
    let config = Config { lookup_tables: 2, ..Config::preset("pynqz1").unwrap() };
    let message = "`lookup_tables` is 2: a lookup writes one register per table, but \
                   `simd_registers_depth` is 1";
    assert_eq!(config.check().unwrap_err().to_string(), message);
    assert_eq!(errors(&config.to_json()), message);
}

#[test]
fn depth_limits() {
    let deep = |depth| Config { local_depth: depth, ..Config::preset("pynqz1").unwrap() }.check();
    assert_eq!(deep(1 << 62), Ok(()));
    assert!(matches!(deep((1 << 62) + 1), Err(ConfigErrors(errors)) if errors.len() == 1));
}

proptest! {
    #[test]
    fn damaged_files_are_refused_calmly(at in 0..PYNQZ1.len(), replacement in "\\PC{0,3}") {
        let text = format!("{}{replacement}{}", &PYNQZ1[..at], &PYNQZ1[at + 1..]);
        if let Ok((config, _)) = Config::from_json(&text) {
            prop_assert_eq!(config.check(), Ok(()));
            prop_assert_eq!(Config::from_json(&config.to_json()).unwrap().0, config);
        }
    }
}

#[test]
fn endings_of_names_change_an_instance() {
    let plain = Config::preset("pynqz1").unwrap();
    let named = |name: &str| {
        let instance = TCU.instance(InstanceSpec::Preset(name)).unwrap();
        assert_eq!(instance.info().name, format!("tcu:{name}"));
        Config::from_value(&instance.info().config).unwrap().0
    };
    let lookup = Config { lookup_tables: 2, simd_registers_depth: 3, ..plain.clone() };
    assert_eq!(named("pynqz1+lut"), lookup);
    assert_eq!(named("pynqz1+lut5"), Config { lookup_tables: 5, simd_registers_depth: 6, ..plain.clone() });
    assert_eq!(named("pynqz1+seed"), Config { reading: Reading::Seed, ..plain });
    let both = Config { reading: Reading::Seed, ..lookup };
    assert_eq!((named("pynqz1+lut+seed"), named("pynqz1+seed+lut")), (both.clone(), both));
    for (name, expected) in [
        ("pynqz1+lut0", "1 to 15"),
        ("pynqz1+lut16", "1 to 15"),
        ("pynqz1+lutx", "1 to 15"),
        ("pynq+lut", "unknown instance"),
        ("pynqz1+seeds", "`+lut` for two lookup tables"),
    ] {
        let Err(error) = TCU.instance(InstanceSpec::Preset(name)) else { panic!("{name}") };
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
}

#[test]
fn limits_of_the_released_unit_are_gone_by_name_and_by_key() {
    let named = |name: &str| {
        let instance = TCU.instance(InstanceSpec::Preset(name)).unwrap();
        Config::from_json(&instance.info().config_text.clone().unwrap()).unwrap().0
    };
    let plain = Config::preset("pynqz1").unwrap();
    assert_eq!(plain.overlap, Overlap::RELEASED);
    for (suffix, overlap) in Overlap::SUFFIXES {
        assert_eq!(named(&format!("pynqz1{suffix}")), Config { overlap, ..plain.clone() }, "{suffix}");
    }
    let both = Config { overlap: Overlap::ALL, ..plain.clone().with_lookup(2) };
    assert_eq!((named("pynqz1+overlap+lut"), named("pynqz1+lut+overlap")), (both.clone(), both));
    for key in ["overlapped_dram", "double_weights"] {
        let text = plain.to_json().replacen('{', &format!("{{\"{key}\": 1,"), 1);
        let expected =
            format!("`{key}` is 1: it needs queues in front of local memory, but `local_queue_depth` is 0");
        assert_eq!(errors(&text), expected);
    }
}

#[test]
fn keys_of_ours_survive_the_file() {
    let plain = Config::preset("cmoda7").unwrap();
    let changed =
        Config { lookup_depth: 4, sample_block_size: 512, reading: Reading::Seed, ..plain.with_lookup(2) };
    let text = changed.to_json();
    assert!(text.contains("\"lookup_depth\": 4") && text.contains("\"reading\": \"seed\""), "{text}");
    assert_eq!(Config::from_json(&text).unwrap(), (changed.clone(), vec![]));
    let error = Config::from_json(&text.replace("\"seed\"", "\"page\"")).unwrap_err().to_string();
    assert_eq!(error, "`reading` is \"page\", but must be one of released, seed");
    assert_eq!(
        (changed.lookup_vectors(), Config { lookup_depth: 0, ..changed }.lookup_vectors()),
        (Some(4), Some(1))
    );
}
