//! `docs/boards.md`: its tables match the instance files, and its commands print the quoted output.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::filetests::{ROOT, diff, run_one};

/// Instances of tcu, by the board's own name.
const BOARDS: [(&str, &str); 14] = [
    ("artya7100t", "Digilent Arty A7-100T"),
    ("artya735t", "Digilent Arty A7-35T, as in the benchmark tables"),
    ("artyz720", "Digilent Arty Z7-20"),
    ("cmoda7", "Digilent Cmod A7"),
    ("kv260", "AMD Kria KV260, local memory in UltraRAM"),
    ("pynqz1", "Digilent PYNQ-Z1"),
    ("pynqz1_12x12", "Digilent PYNQ-Z1, as in the benchmark tables"),
    ("pynqz2", "TUL PYNQ-Z2"),
    ("speech_robot", "the board of Tensil's speech robot"),
    ("ulx3s", "Radiona ULX3S with the 85F, in npukit's design with open tools"),
    ("ulx3s_85f", "Radiona ULX3S with the 85F"),
    ("ultra96v2", "Avnet Ultra96-V2"),
    ("zcu104", "AMD ZCU104"),
    ("zcu104_uram", "AMD ZCU104, memories in UltraRAM"),
];

/// Commands of the worked example.
const COMMANDS: [&str; 4] = [
    "zoo mlp -o mlp.onnx",
    "compile mlp.onnx --target tcu:my.tarch@slow -o out --test-vectors --driver embedded",
    "run out/mlp_onnx_my_slow.tmodel --input out/mlp_onnx_my_slow.test_input.csv --output y.npz",
    "compile mlp.onnx --target tcu:my.tarch@fast -o out",
];

#[test]
fn the_page_of_boards_is_up_to_date() {
    let path = Path::new(ROOT).join("docs/boards.md");
    let page = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let tcu: Vec<(&str, &str, Value)> = BOARDS.map(|(name, board)| (name, board, tarch(name))).to_vec();
    let mut made = page.clone();
    for (part, text) in
        [("tcu", instances(&tcu)), ("systems", systems(&tcu)), ("others", others()), ("run", example(&page))]
    {
        made = with_part(&made, part, &text);
    }
    if std::env::var_os("NPUKIT_BLESS").is_some() {
        return fs::write(&path, made).unwrap();
    }
    assert!(made == page, "docs/boards.md: {}", diff(&page, &made));
}

/// Reads the file of an instance.
fn tarch(name: &str) -> Value {
    let path = format!("{ROOT}/targets/tcu/configs/{name}.tarch");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the page with `text` between the markers of a part.
fn with_part(page: &str, part: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- /{part} -->\n"));
    let (head, rest) = page.split_once(&begin).unwrap();
    let (_, tail) = rest.split_once(&end).unwrap();
    format!("{head}{begin}{text}{end}{tail}")
}

/// Returns all listed instances, in the order of the list.
fn listed() -> Vec<Value> {
    let report: Value = serde_json::from_str(&run_one("targets --json", Path::new(ROOT)).unwrap()).unwrap();
    report["targets"].as_array().unwrap().clone()
}

fn instances(boards: &[(&str, &str, Value)]) -> String {
    let presets = listed()[0]["presets"].as_array().unwrap().clone();
    let names: Vec<&str> = presets.iter().map(|preset| preset["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        boards.iter().map(|(name, ..)| *name).collect::<Vec<_>>(),
        "every preset is on the page"
    );
    let mut text = String::from(
        "| `--target` | board | N | data type | DRAM0 | DRAM1 | local | accumulators | clock | bus |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, board, file) in boards {
        let number = |key: &str| file[key].as_u64().unwrap();
        let [dram0, dram1, local, accumulators] =
            ["dram0_depth", "dram1_depth", "local_depth", "accumulator_depth"].map(number);
        text += &format!(
            "| `tcu:{name}` | {board} | {} | {} | {dram0} | {dram1} | {local} | {accumulators} | {} | {} |\n",
            number("array_size"),
            file["data_type"].as_str().unwrap(),
            stated(&file["system"], "clock_mhz", "MHz"),
            stated(&file["system"], "axi_width_bits", "bits"),
        );
    }
    text
}

/// Formats a figure of a system with its unit.
fn stated(system: &Value, key: &str, unit: &str) -> String {
    system.get(key).map_or_else(|| "open".to_owned(), |figure| format!("{figure} {unit}"))
}

fn systems(boards: &[(&str, &str, Value)]) -> String {
    let mut text = String::from(
        "| `--target` | clock | bus | latency | source of the clock | of bus and latency |\n|---|---|---|---|---|---|\n",
    );
    let mut row = |name: String, system: &Value| {
        let (clock, bus) = (stated(system, "clock_mhz", "MHz"), stated(system, "axi_width_bits", "bits"));
        let latency = stated(system, "dram_latency_cycles", "cycles");
        let source =
            |key: &str| system.get(key).map_or_else(String::new, |text| text.as_str().unwrap().to_owned());
        let (source, memory) = (source("source"), source("memory_source"));
        text += &format!("| `tcu:{name}` | {clock} | {bus} | {latency} | {source} | {memory} |\n");
    };
    for (name, _, file) in boards {
        if let Some(system) = file.get("system") {
            row((*name).to_owned(), system);
        }
        for (system, stated) in file.get("systems").and_then(Value::as_object).into_iter().flatten() {
            row(format!("{name}@{system}"), stated);
        }
    }
    text
}

fn others() -> String {
    let mut text = String::from("| `--target` | is |\n|---|---|\n");
    for target in listed().iter().skip(1) {
        for preset in target["presets"].as_array().unwrap() {
            let [target, name, summary] =
                [&target["name"], &preset["name"], &preset["summary"]].map(|text| text.as_str().unwrap());
            text += &format!("| `{target}:{name}` | {summary} |\n");
        }
    }
    text
}

/// Returns the output of the commands, with the file that the page contains.
fn example(page: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("board_page");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let (_, file) = page.split_once("<!-- file my.tarch -->\n```json\n").unwrap();
    fs::write(folder.join("my.tarch"), file.split_once("```").unwrap().0).unwrap();
    let run = |command: &&str| format!("$ npu {command}\n{}", run_one(command, &folder).unwrap());
    format!("```console\n{}```\n", COMMANDS.iter().map(run).collect::<Vec<_>>().join("\n"))
}
