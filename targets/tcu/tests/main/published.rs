//! The public compiled programs: outputs and final states for every input, and the estimator's
//! totals.

use std::fs;
use std::path::{Path, PathBuf};

use npukit_tcu::internals::artifact::raw_from_bytes;
use npukit_tcu::internals::program::Piece;
use npukit_tcu::{Config, Machine, Memory, decode_program, estimate};
use npukit_testing::{needs, shared};
use serde_json::Value;

use crate::golden::{hash, raws, text};

/// A published program with its expected results.
struct Published {
    folder: PathBuf,
    manifest: Value,
    expected: Value,
    config: Config,
}

impl Published {
    fn new(name: &str, manifest: &str) -> Self {
        let folder = shared("golden/tcu/programs").join(name);
        let json = |file: &str| serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap();
        let manifest: Value = json(manifest);
        let config = Config::from_value(&manifest["arch"]).unwrap().0;
        Self { expected: json("outputs.json"), config, manifest, folder }
    }

    fn file(&self, entry: &Value) -> Vec<u8> {
        fs::read(self.folder.join(text(&entry["file_name"]))).unwrap()
    }

    fn piece(entry: &Value) -> Piece {
        Piece { base: entry["base"].as_u64().unwrap(), size: entry["size"].as_u64().unwrap() }
    }

    /// Reads the lines of a CSV, one vector each, as raw scalars.
    fn csv(&self, name: &Path) -> Vec<i32> {
        let text = fs::read_to_string(self.folder.join(name)).unwrap();
        let format = self.config.data_type.format();
        text.split([',', '\n'])
            .filter(|field| !field.trim().is_empty())
            .map(|field| format.raw_from_f32(field.trim().parse().unwrap()))
            .collect()
    }

    fn check(&self, inputs: &str) {
        let ops = decode_program(&self.config, &self.file(&self.manifest["prog"])).unwrap();
        let total = estimate(&self.config, &ops);
        let expected = &self.expected["estimator"];
        assert_eq!(total.cycles, expected["cycles_aggregate"].as_u64().unwrap());
        assert_eq!(total.undrained, expected["cycles_undrained"].as_u64().unwrap());
        assert_eq!(total.energy, expected["energy"].as_u64().unwrap());
        let constants = self.file(&self.manifest["consts"][0]);
        let constants = raw_from_bytes(self.config.data_type, &constants).unwrap();
        let input = Self::piece(&self.manifest["inputs"][0]);
        let samples = self.csv(Path::new(inputs));
        let samples = samples.chunks(input.size as usize * self.config.array_size);
        let runs = self.expected["runs"].as_array().unwrap();
        assert_eq!(samples.len(), runs.len());
        for (sample, run) in samples.zip(runs) {
            let mut machine = Machine::new(&self.config).unwrap();
            machine.write(Memory::Dram1, 0, &constants).unwrap();
            machine.write(Memory::Dram0, input.base, sample).unwrap();
            machine.run(&ops, &mut |_| ()).unwrap();
            self.check_run(&machine, run);
        }
    }

    fn check_run(&self, machine: &Machine, run: &Value) {
        let output = Self::piece(&self.manifest["outputs"][0]);
        let raw = machine.read(Memory::Dram0, output.base, output.size).unwrap();
        assert_eq!(raw, raws(&run["output_raw"]), "run {}", run["index"]);
        let state = &run["final_state"];
        let dram0 = state["dram0_vectors_hashed"].as_u64().unwrap();
        assert_eq!(hash(machine, Memory::Dram0, dram0), text(&state["dram0_sha256"]));
        assert_eq!(hash(machine, Memory::Local, self.config.local_depth), text(&state["local_sha256"]));
        let accumulators = hash(machine, Memory::Accumulators, self.config.accumulator_depth);
        assert_eq!(accumulators, text(&state["accumulators_sha256"]));
        assert_eq!(machine.saturations().count(), self.expected["saturation_events"].as_u64().unwrap_or(0));
    }
}

#[needs(NPUKIT_SHARED)]
#[test]
fn resnet20_on_zcu104() {
    let program = Published::new("resnet20v2_zcu104", "resnet20v2_cifar_onnx_zcu104.tmodel");
    program.check("cifar_10x32.csv");
}

#[needs(NPUKIT_SHARED)]
#[test]
fn speech_commands_on_speech_robot() {
    let program = Published::new("speech_commands", "speech_commands_onnx_speech_robot.tmodel");
    program.check("speech_commands_input_1x8.csv");
}
