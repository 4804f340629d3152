//! Messages and reports that new users meet: each names the next step, and none contradicts itself.

use super::npu::{ASSETS, DIGITS, IMAGES, Npu, array};
use super::onnx::{Model, SIZE};

const TARGET: &str = "tcu:pynqz1";
/// Artifacts of `m.onnx` and of the embedded network.
const SMALL: &str = "out/m_onnx_pynqz1.tmodel";
const NETWORK: &str = "out/digits_onnx_pynqz1.tmodel";

/// Returns a folder with a product and `operator` as `m.onnx`, and two samples of equal elements.
fn small(operator: &str, element: f32) -> Npu {
    let npu = Npu::new();
    npu.write("m.onnx", Model { operator, ..Model::default() }.bytes());
    npu.write("x.npy", array(&[2, SIZE], &[element; 2 * SIZE]));
    npu
}

/// Compiles the embedded network to [`NETWORK`].
fn compiled() -> Npu {
    let npu = Npu::new();
    let (out, _) = npu.text(0, &["compile", DIGITS, "--target", TARGET, "-o", "out"]);
    assert!(out.contains(&format!("next: npu run {NETWORK} --model {DIGITS} --input random:1\n")), "{out}");
    npu
}

#[test]
fn a_segment_is_not_the_whole_program() {
    let npu = Npu::new();
    npu.text(0, &["zoo", "decoder", "-o", "decoder.onnx"]);
    npu.text(0, &["compile", "decoder.onnx", "--target", TARGET, "-o", "out"]);
    let (out, _) = npu.text(0, &["time", "out/decoder_seg0_onnx_pynqz1.tmodel"]);
    let line = out.lines().find(|line| line.starts_with("latency")).unwrap();
    assert!(
        line.contains(", at most ")
            && line.contains("(a segment of decoder_onnx_pynqz1.segments.json alone;"),
        "{line}"
    );
    let (out, _) = npu.text(0, &["time", "out/decoder_onnx_pynqz1.segments.json"]);
    assert!(!out.contains("a segment of"), "{out}");
}

/// Files and folders of the command whose reports people read first.
const REPORTS: [&str; 13] = [
    "text",
    "commands/run",
    "commands/check.rs",
    "commands/compile.rs",
    "commands/demo.rs",
    "commands/eval.rs",
    "commands/explore",
    "commands/explore.rs",
    "commands/report.rs",
    "commands/run.rs",
    "commands/time",
    "commands/time.rs",
    "commands/verify.rs",
];

/// Labels that need no explanation, or whose row explains them.
const PLAIN: [&str; 6] = ["at", "explained", "is", "there", "times", "values"];

/// Returns the labels of rows, which are the first part of a pair, and the headings of columns.
fn labels(source: &str) -> Vec<&str> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let (before, after) = (code.split("(\""), code.split("(\"").skip(1));
    let label = |(before, after): (&str, &str)| {
        let is_column = ["Column::left", "Column::right", "Column::text", "fact"]
            .iter()
            .any(|call| before.ends_with(call));
        let is_call = before.ends_with(|c: char| c.is_alphanumeric() || ['_', '!', '>'].contains(&c));
        let end = after.find('"')?;
        let is_pair = after[end + 1..].starts_with(',') && !is_call;
        (is_column || is_pair).then_some(end)
    };
    let found = before.zip(after).filter_map(|(before, after)| Some(&after[..label((before, after))?]));
    let is_label = |label: &&str| !label.is_empty() && label.trim() == *label && !label.starts_with('-');
    found.filter(is_label).collect()
}

#[test]
fn every_label_of_a_report_is_explained() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let files = REPORTS.iter().flat_map(|name| match folder.join(name) {
        path if path.is_dir() => {
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
        }
        path => vec![path],
    });
    let mut count = 0;
    for file in files.filter(|file| file.is_file()) {
        let source = std::fs::read_to_string(&file).unwrap();
        for label in labels(&source).into_iter().filter(|label| !PLAIN.contains(label)) {
            let is_explained = npukit::verbs::glossary::glossary(Some(label)).is_ok();
            assert!(is_explained, "{}: the glossary lacks `{label}`", file.display());
            count += 1;
        }
    }
    assert!(count > 100, "{count} labels were found");
}

#[test]
fn the_demo_ends_with_commands_for_a_network_of_ones_own() {
    let (out, _) = Npu::new().text(0, &["demo", "--target", TARGET]);
    let last = out.lines().last().unwrap();
    assert!(last.starts_with("next: npu check MODEL.onnx --target tcu:pynqz1 --compile"), "{out}");
}

#[test]
fn the_accuracy_of_few_samples_is_counted() {
    let labels = format!("{ASSETS}/digits_labels.npy");
    let run =
        ["run", DIGITS, "--target", TARGET, "--input", IMAGES, "--samples", "5", "--labels", labels.as_str()];
    let (out, _) = Npu::new().text(0, &run);
    assert!(out.contains("top-1 accuracy  100.0 %, 5 of 5 (float: 100.0 %, 5 of 5)"), "{out}");
    assert!(out.contains("least certain sample (right)") && !out.contains("worst sample"), "{out}");
}

/// The last line of `npu compile` is a command that runs as it is printed, and compares with float.
#[test]
fn the_next_command_runs_as_printed() {
    let npu = Npu::new();
    let next = |given: &[&str]| {
        let compile = ["compile", DIGITS, "--target", TARGET, "-o", "out"];
        let (out, _) = npu.text(0, &[&compile[..], given].concat());
        let command = out.lines().find_map(|line| line.strip_prefix("next: npu ")).unwrap().to_owned();
        (out, command)
    };
    let (out, command) = next(&[]);
    assert!(out.contains("FILE.npy instead of random:1, with `image` of shape 1x1x8x8\n"), "{out}");
    assert!(out.contains("compile time") && out.contains("total writes"), "{out}");
    let (run, _) = npu.text(0, &command.split(' ').collect::<Vec<_>>());
    assert!(run.contains("signal to noise"), "{run}");
    // The file does not have the batch of the artifact.
    let (_, command) = next(&["--batch", "2"]);
    assert!(!command.contains("--model"), "{command}");
    npu.text(0, &command.split(' ').collect::<Vec<_>>());
}

#[test]
fn a_host_step_leaves_an_upper_bound_of_the_rate() {
    let npu = small("Softmax", 0.5);
    for verb in ["compile", "time", "run"] {
        let inputs = if verb == "run" { &["--input", "x.npy"][..] } else { &[] };
        let (out, _) = npu.text(0, &[&[verb, "m.onnx", "--target", TARGET], inputs].concat());
        let line = out.lines().find(|line| line.starts_with("latency")).unwrap();
        assert!(line.contains("µs, at most ") && line.contains(" frames/s at 50 MHz"), "{line}");
        assert!(
            line.ends_with("(accelerator alone; 1 host step not counted: not comparable with other targets)"),
            "{line}"
        );
    }
}

#[test]
fn lines_are_named_as_not_covered() {
    let npu = small("Sigmoid", 0.5);
    let lines = ["--target", TARGET, "--option", "functions=lines"];
    npu.text(0, &[&["compile", "m.onnx", "-o", "out"], &lines[..]].concat());
    for given in [&lines[..], &["--artifact", SMALL]] {
        let (out, _) = npu.text(1, &[&["verify", "m.onnx"], given].concat());
        assert!(out.contains("not proved: 1 node not covered; the rest is proved"), "{out}");
        let gap = "not covered: node `follower` (Sigmoid): it is approximated by 4 lines";
        assert!(out.contains(gap) && !out.contains("first difference"), "{out}");
    }
    // Without lines, the host computes the function, and its reason names both ways out.
    let (out, _) = npu.text(0, &["compile", "m.onnx", "--target", TARGET, "-o", "host"]);
    assert!(out.contains("functions=lines") && out.contains("+lut"), "{out}");
}

#[test]
fn an_artifact_is_compared_with_its_model() {
    let npu = compiled();
    let run = ["run", NETWORK, "--input", IMAGES, "--samples", "9"];
    let (out, _) = npu.text(0, &run);
    assert!(out.contains("not compared with float: --model names the model for it"), "{out}");
    let with_model = [&run[..], &["--model", DIGITS]].concat();
    let (out, _) = npu.text(0, &[&with_model[..], &["--max-error", "5%", "-o", "y.npz"]].concat());
    assert!(out.contains("signal to noise") && !out.contains("not compared"), "{out}");
    assert!(out.contains("and 1 sample more, in y.npz") && out.contains("wrote y.npz"), "{out}");
    // Earlier names of the option.
    for option in ["--model", "--shapes-from", "--like"] {
        npu.text(1, &[&run[..], &[option, DIGITS, "--max-error", "0"]].concat());
    }
    let (out, _) = npu.text(0, &["report", NETWORK, "--input", IMAGES, "--samples", "9", "-o", "r.html"]);
    assert!(out.contains("timed, run on 9 samples; not compared with float, as the model"), "{out}");
}

#[test]
fn a_folder_and_an_artifact_name_the_right_file() {
    let npu = compiled();
    for verb in ["run", "report", "time"] {
        let (_, error) = npu.text(2, &[verb, "out"]);
        assert!(error.contains("is a folder") && error.contains(NETWORK), "{verb}: {error}");
    }
    let (_, error) = npu.text(1, &["verify", NETWORK]);
    assert!(error.contains("npu verify MODEL --artifact FILE"), "{error}");
    let (_, error) = npu.text(1, &["run", DIGITS, "--target", TARGET, "--input", "random"]);
    assert!(error.contains("`random:1`"), "{error}");
}

#[test]
fn values_that_say_nothing_are_warned_of() {
    let npu = small("Softmax", 255.0);
    npu.text(0, &["compile", "m.onnx", "--target", TARGET, "-o", "out"]);
    let (out, _) = npu.text(0, &["run", SMALL, "--input", "x.npy"]);
    let warning = out.find("of the artifact do not fit its numbers").unwrap_or_else(|| panic!("{out}"));
    assert!(warning < out.find("histogram").unwrap() && out.contains("--scale 1/255"), "{out}");
    let npu = small("Softmax", 60.0);
    let (out, _) = npu.text(0, &["run", "m.onnx", "--target", TARGET, "--input", "x.npy"]);
    assert!(out.contains("are 0 or 1, the limits of Softmax"), "{out}");
}

#[test]
fn bounds_name_what_they_bound() {
    let npu = small("Softmax", 100.0);
    let verify = ["verify", "m.onnx", "--target", TARGET, "--bounds"];
    let (out, _) = npu.text(0, &[&verify[..], &["--input", "x.npy", "--scale", "1/255", "--hull"]].concat());
    assert!(out.contains("y, before Softmax"), "{out}");
    assert!(out.contains("none: bounds are of values before steps on the host: Softmax"), "{out}");
    npu.text(0, &["verify", "m.onnx", "--target", TARGET, "-o", "p.json"]);
    let (out, _) = npu.text(0, &["verify", "m.onnx", "--certificate", "p.json"]);
    assert!(out.contains("holds"), "{out}");
}
