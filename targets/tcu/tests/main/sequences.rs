//! The final states of 60 random programs on the simulated hardware.

use npukit_tcu::{Config, Machine, Memory, decode_program, validate};
use serde_json::Value;

use crate::golden::{golden, hash, hex_bytes, raws, text};

/// Returns scalar `i` of the initial content of a bank; the generator is described next to the
/// vectors.
fn scalar(seed: u64, bank: u64, shift: u32, i: u64) -> i32 {
    let mut z = seed
        .wrapping_mul(0x100_0000_01B3)
        .wrapping_add(bank)
        .wrapping_add((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    i32::from((z >> 48) as i16 >> shift)
}

fn fill(seed: u64, bank: u64, shift: u32, scalars: u64) -> Vec<i32> {
    (0..scalars).map(|i| scalar(seed, bank, shift, i)).collect()
}

fn check_programs(name: &str, count: usize) {
    let file = golden(name);
    let config = Config::from_value(&file["architecture"]).unwrap().0;
    let example = &file["fill_example"];
    let seed = example["seed"].as_u64().unwrap();
    assert_eq!(fill(seed, 0, 0, 8), raws(&example["bank0_shift0"]));
    assert_eq!(fill(seed, 1, 5, 8), raws(&example["bank1_shift5"]));
    let programs = file["programs"].as_array().unwrap();
    for program in programs {
        check_program(&config, &file, program);
    }
    assert_eq!(programs.len(), count);
}

fn check_program(config: &Config, file: &Value, program: &Value) {
    let mut machine = Machine::new(config).unwrap();
    let scalars = file["dram_filled_vectors"].as_u64().unwrap() * config.array_size as u64;
    let seed = program["seed"].as_u64().unwrap();
    let shift = raws(&program["shift"]);
    machine.write(Memory::Dram0, 0, &fill(seed, 0, shift[0] as u32, scalars)).unwrap();
    machine.write(Memory::Dram1, 0, &fill(seed, 1, shift[1] as u32, scalars)).unwrap();
    let ops = decode_program(config, &hex_bytes(text(&program["program"]))).unwrap();
    let errors = validate(config, &ops).into_iter().filter(|p| p.severity == npukit_tcu::Severity::Error);
    assert_eq!(errors.collect::<Vec<_>>(), [], "{}", program["id"]);
    machine.run(&ops, &mut |_| ()).unwrap();
    let hashed = file["dram_hashed_vectors"].as_u64().unwrap();
    let memories = [
        ("dram0", Memory::Dram0, hashed),
        ("dram1", Memory::Dram1, hashed),
        ("local", Memory::Local, config.local_depth),
        ("accumulators", Memory::Accumulators, config.accumulator_depth),
    ];
    for (key, memory, vectors) in memories {
        let id = &program["id"];
        assert_eq!(hash(&machine, memory, vectors), text(&program["final"][key]), "{id}, {key}");
    }
}

#[test]
fn final_states_of_8_lanes() {
    check_programs("rtl_sequences.json", 40);
}

#[test]
fn final_states_of_32_lanes() {
    check_programs("rtl_sequences_n32_b4.json", 20);
}
