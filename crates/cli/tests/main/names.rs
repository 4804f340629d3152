//! Names from models, which may contain any character: on the terminal, in archives and in file
//! names.

use serde_json::Value;

use crate::npu::{Npu, array};
use crate::onnx::{Model, SIZE};

/// ESC, BEL, the C1 form of ESC [, line ends, direction marks, and ways out of a folder.
const HOSTILE: Model<'_> = Model {
    graph: "\u{1b}c graph",
    input: "\u{1b}]0;in\u{7}\nforged",
    weights: "w\u{1b}[8m",
    hidden: "\u{202e}hidden\u{9b}2J\nforged",
    output: "../../\u{1b}[2Jout\nforged",
    nodes: ["\u{1b}[31mproduct\r\nforged", "\u{2066}follower\u{2069}\u{8}\u{7f}\nforged"],
    operator: "Relu",
    external: None,
};

/// Whether a text has no control characters except line ends, and no line that a name created.
fn is_plain(text: &str) -> bool {
    let is_mark =
        |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_order = |c: char| c != '\n' && (c.is_control() || is_mark(c));
    !text.replace("\r\n", "\n").contains(is_order)
        && !text.lines().any(|line| line.trim_start().starts_with("forged"))
}

/// Creates a folder with the model and an input.
fn folder(model: &Model<'_>) -> Npu {
    let npu = Npu::new();
    npu.write("m.onnx", model.bytes());
    npu.write("x.npy", array(&[1, SIZE], &[1.0; SIZE]));
    npu
}

/// Returns the text without color sequences.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        all + rest.strip_prefix('m').unwrap_or("no color")
    })
}

/// Returns the lines that do not report how long a command took.
fn untimed(text: &str) -> Vec<&str> {
    let is_time = |line: &&str| line.starts_with("seconds ") || line.starts_with("compile time ");
    text.lines().filter(|line| !is_time(line)).collect()
}

/// Runs a command that must end with `status`, with text and with JSON output; both must be plain
/// text.
fn plainly(npu: &Npu, status: i32, arguments: &[&str]) -> (String, Value) {
    let (out, error) = npu.text(status, arguments);
    assert!(is_plain(&out) && is_plain(&error), "{arguments:?}: {out:?} {error:?}");
    let (colored, error) = npu.text(status, &[arguments, &["--color", "always"]].concat());
    assert_eq!(
        untimed(&without_colors(&colored)),
        untimed(&out),
        "{arguments:?}: only color sequences are allowed"
    );
    assert!(is_plain(&without_colors(&error)), "{arguments:?}: {error:?}");
    let output = npu.run(&[arguments, &["--json"]].concat());
    let (json, error) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(is_plain(&error), "{arguments:?}: {error:?}");
    assert!(is_plain(&json), "{arguments:?}: {json:?}");
    (out + &error, serde_json::from_str(&json).unwrap())
}

#[test]
fn no_verb_sends_orders_to_the_terminal() {
    let npu = folder(&HOSTILE);
    for target in ["tcu", "opu", "pccx", "drra:3x1+ext"] {
        plainly(&npu, 0, &["check", "m.onnx", "--target", target]);
        let run = ["run", "m.onnx", "--target", target, "--input", "x.npy"];
        let (text, report) = plainly(&npu, 0, &[&run[..], &["--compare"]].concat());
        assert!(text.contains("../../\\u{1b}[2Jout"), "{target}: {text}");
        assert_eq!(report["outputs"][0]["name"], HOSTILE.output, "{target}");
        plainly(&npu, 0, &["time", "m.onnx", "--target", target]);
        plainly(&npu, 0, &["compile", "m.onnx", "--target", target, "-o", target]);
        plainly(&npu, 0, &["compile", "m.onnx", "--target", target, "--emit", "graph"]);
    }
    for stage in ["layers", "hir", "plan", "lir", "asm"] {
        plainly(&npu, 0, &["compile", "m.onnx", "--target", "tcu", "--emit", stage]);
    }
    for artifact in ["tcu/m_onnx_pynqz1.tmodel", "opu/m_onnx_reference.opu.toml", "pccx/m_onnx_reference.pcp"]
    {
        let (text, _) = plainly(&npu, 0, &["run", artifact, "--input", "x.npy"]);
        assert!(text.contains("../../\\u{1b}[2Jout"), "{artifact}: {text}");
        plainly(&npu, 0, &["time", artifact]);
        plainly(&npu, 0, &["lint", artifact]);
    }
    plainly(&npu, 0, &["eval", "m.onnx", "--input", "x.npy"]);
    plainly(&npu, 0, &["disasm", "tcu/m_onnx_pynqz1.tprog", "--target", "tcu"]);
}

#[test]
fn errors_are_plain_too() {
    let npu = folder(&Model { operator: "\u{1b}[2JNone\u{202e}", ..HOSTILE });
    for verb in ["check", "time"] {
        plainly(&npu, 1, &[verb, "m.onnx", "--target", "tcu"]);
    }
    plainly(&npu, 1, &["compile", "m.onnx", "--target", "tcu", "-o", "out"]);
    plainly(&npu, 1, &["run", "m.onnx", "--target", "tcu", "--input", "x.npy"]);
    plainly(&npu, 1, &["eval", "m.onnx", "--input", "x.npy"]);
    // Supported operators that targets reject, and an input that is not given.
    let npu = folder(&Model { operator: "Round", ..HOSTILE });
    plainly(&npu, 0, &["check", "m.onnx", "--target", "tcu"]);
    for target in ["opu", "drra"] {
        let (text, report) = plainly(&npu, 1, &["check", "m.onnx", "--target", target, "--segments", "no"]);
        assert!(text.contains("follower\\u{2069}\\u{8}\\u{7f}"), "{target}: {text}");
        assert_eq!(report["problems"][0]["node"], HOSTILE.nodes[1], "{target}");
    }
    let (text, _) = plainly(&npu, 2, &["eval", "m.onnx", "--input", "other=x.npy"]);
    assert!(text.contains("\\u{1b}]0;in\\u{7}"), "{text}");
    // Names of files and of everything else on the command line.
    for file in ["\u{1b}[2J.onnx", "\u{202e}xnno.onnx", "\u{1b}.tmodel", "\u{9b}2J.pcp"] {
        plainly(&npu, 1, &["time", file, "--target", "tcu"][..if file.ends_with("onnx") { 4 } else { 2 }]);
        plainly(&npu, 1, &["disasm", file]);
    }
    npu.write("e.s", "\u{1b}[2J \u{202e}\n.equ \u{9b}, 1\n");
    plainly(&npu, 1, &["asm", "e.s", "--target", "tcu", "-o", "e"]);
    plainly(&npu, 2, &["compile", "m.onnx", "--target", "\u{1b}[2J", "-o", "out"]);
    plainly(&npu, 2, &["compile", "m.onnx", "--target", "tcu", "--emit", "\u{1b}[2J"]);
}

/// Members of archives stay in the folder in which they are unpacked; the JSON has the model's
/// names.
#[test]
fn archives_have_safe_names() {
    let npu = folder(&HOSTILE);
    let run = [
        "run",
        "m.onnx",
        "--target",
        "tcu",
        "--input",
        "x.npy",
        "-o",
        "y.npz",
        "--dump",
        "d.npz",
        "--compare",
    ];
    let report = npu.json(0, &run);
    npu.json(0, &["eval", "m.onnx", "--input", "x.npy", "-o", "e.npz"]);
    for (file, shown) in
        [("y.npz", &report["outputs"]), ("d.npz", &report["dump"]), ("e.npz", &report["outputs"])]
    {
        let members = members(&std::fs::read(npu.path(file)).unwrap());
        for member in &members {
            let parts: Vec<&str> = member.split('/').collect();
            assert!(
                is_plain(member) && !parts.iter().any(|part| ["", ".", ".."].contains(part)),
                "{member:?}"
            );
        }
        let shown = shown.as_array().unwrap().iter();
        let shown = shown.map(|one| one["member"].as_str().or(one["name"].as_str()).unwrap());
        assert_eq!(shown.map(|name| format!("{name}.npy")).collect::<Vec<_>>(), members, "{file}");
    }
    let names: Vec<&str> =
        report["dump"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&&*format!("machine/{}", HOSTILE.output)), "{names:?}");
    assert!(names.contains(&&*format!("float/{}", HOSTILE.input)), "{names:?}");
}

/// Returns the names of the members of a zip, from their local headers: nothing is compressed.
/// Source: APPNOTE.TXT, 4.3.7.
fn members(zip: &[u8]) -> Vec<String> {
    let number = |at: usize, bytes: usize| {
        zip[at..at + bytes].iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte))
    };
    let (mut at, mut names) = (0, Vec::new());
    while zip[at..].starts_with(b"PK\x03\x04") {
        let (size, name, extra) = (number(at + 18, 4), number(at + 26, 2), number(at + 28, 2));
        names.push(String::from_utf8(zip[at + 30..at + 30 + name].to_vec()).unwrap());
        at += 30 + name + extra + size;
    }
    names
}

/// Models of any name have artifacts with distinct names that run.
#[test]
fn models_of_any_name_become_artifacts() {
    let npu = folder(&Model::default());
    let models = [
        "a b.onnx",
        "a_b.onnx",
        "v1.2.onnx",
        "v1.3.onnx",
        "é.onnx",
        "è.onnx",
        "网络.onnx",
        "-o.onnx",
        "--json.onnx",
        ".onnx",
        "a\u{1b}[2J.onnx",
        "'$(x)`.onnx",
    ];
    for model in models {
        npu.write(model, Model::default().bytes());
    }
    for (target, ending) in
        [("tcu", ".tmodel"), ("opu", ".opu.toml"), ("pccx", ".pcp"), ("drra:3x1+ext", ".plan.json")]
    {
        let mut manifests = std::collections::BTreeSet::new();
        for model in models {
            let path = format!("./{model}");
            // Without the same samples, the run of the model would use its own.
            let given = [path.as_str(), "--target", target, "--calibrate", "x.npy"];
            let report = npu.json(0, &[&["compile"], &given[..], &["-o", "./-o u.t/é"]].concat());
            let files: Vec<&str> =
                report["artifacts"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let manifest = *files.iter().find(|file| file.ends_with(ending)).unwrap();
            assert!(manifests.insert(manifest.to_owned()), "{manifest} is there twice");
            let ran = npu.json(0, &["run", manifest, "--input", "x.npy"]);
            let expected = npu.json(0, &[&["run"], &given[..], &["--input", "x.npy"]].concat());
            assert_eq!(ran["outputs"], expected["outputs"], "{manifest}");
            assert_eq!(ran["name"], expected["name"], "{manifest}");
            npu.json(0, &["time", manifest]);
            npu.json(0, &["lint", manifest]);
        }
    }
    // After the separator `--`, `-o.onnx` is a file name.
    npu.text(0, &["compile", "--target", "tcu", "-o", "out", "--", "-o.onnx"]);
    npu.text(0, &["run", "--target", "tcu", "--input", "x.npy", "--", "--json.onnx"]);
}

/// Names that would forge contents of a file if they were written unescaped.
const FORGED: [&str; 3] = [
    "a\nforged\n#",
    "\"';$(touch x)`touch x`;[touch x],",
    "]]></title></script><forged/>&amp;{{data}}\u{1b}\u{202e}\u{ffff}",
];

/// Returns the tags of a page or figure with their numbers of attributes; fails if it is not
/// well-formed.
fn tags(text: &str) -> Vec<(String, usize)> {
    let mut tags = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, rest) = part.split_once('>').unwrap_or_else(|| panic!("no end: {part:?}"));
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).unwrap_or_default();
        let quotes = tag.matches('"').count();
        assert!(quotes.is_multiple_of(2) && !rest.contains('>') || name == "style", "{part:?}");
        tags.push((name.to_owned(), quotes / 2));
    }
    tags
}

/// Returns a page without its data and scripts, which contain no names as markup.
fn markup(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    let first = first.split("<style").next().unwrap_or_default().to_owned()
        + first.rsplit("</style>").next().unwrap_or_default();
    parts.fold(first, |all, part| all + part.split_once("</script>").map_or("", |(_, rest)| rest))
}

/// Parses the records of a CSV file into fields. Source: RFC 4180, 2.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut fields, mut field, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                fields.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut fields));
            }
            c => field.push(c),
        }
    }
    records
}

/// Returns the outputs for a model of these names: its figures, its page and the table of its
/// instructions.
fn written(name: &str) -> (Npu, Vec<String>, Vec<Vec<String>>) {
    let named = |what: &str| format!("{what}{name}");
    let [graph, input, weights, hidden, output] = ["g", "x", "w", "h", "y"].map(named);
    let [product, follower] = ["p", "f"].map(named);
    let (graph, input, weights, hidden, output) = (&graph, &input, &weights, &hidden, &output);
    let nodes = [product.as_str(), follower.as_str()];
    let npu = folder(&Model { graph, input, weights, hidden, output, nodes, ..Model::default() });
    npu.text(0, &["report", "m.onnx", "--target", "tcu", "--svg", "s", "-o", "p.html"]);
    npu.text(0, &["time", "m.onnx", "--target", "tcu", "--by-instruction", "t.csv"]);
    let text = |name: &str| std::fs::read_to_string(npu.path(name)).unwrap();
    let files = vec![text("s/roofline.svg"), text("s/timeline.svg"), markup(&text("p.html"))];
    let table = records(&text("t.csv"));
    (npu, files, table)
}

#[test]
fn names_are_nothing_else_in_figures_pages_and_tables() {
    let (_, plain, table) = written("");
    for name in FORGED {
        let (_npu, files, hostile) = written(name);
        for (file, plain) in files.iter().zip(&plain) {
            assert_eq!(tags(file), tags(plain), "{name:?}");
            assert!(is_plain(file) && !file.contains("<forged"), "{name:?}");
        }
        // The names of layers are made from the names of nodes; the rest is unchanged.
        let others = |records: &[Vec<String>]| {
            records.iter().map(|record| [&record[..1], &record[2..]].concat()).collect::<Vec<_>>()
        };
        assert_eq!(others(&hostile), others(&table), "{name:?}");
        assert!(hostile.iter().any(|record| record[1].contains(name)), "{name:?}: {hostile:?}");
    }
}

#[test]
fn names_are_nothing_else_in_circuits() {
    let architecture = "{\"data_type\":\"FP16BP8\",\"array_size\":4,\"dram0_depth\":4096,\"dram1_depth\":32768,\
        \"local_depth\":4096,\"accumulator_depth\":4096,\"simd_registers_depth\":1,\"stride0_depth\":8,\
        \"stride1_depth\":8,\"number_of_threads\":1,\"thread_queue_depth\":8}";
    for name in FORGED.map(|name| name.replace('/', "|").replace('\0', "")) {
        let npu = Npu::new();
        npu.write(&format!("{name}.tarch"), architecture);
        npu.text(0, &["rtl", &format!("tcu:./{name}.tarch"), "-o", "r"]);
        let mut kinds = std::collections::BTreeSet::new();
        for entry in std::fs::read_dir(npu.path("r")).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(file.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{file:?}");
            let text = std::fs::read_to_string(&path).unwrap();
            let says = |line: &str| {
                !["//", "#", "description:"].iter().any(|start| line.trim_start().starts_with(start))
            };
            // Names of modules and files only consist of letters.
            let wrong = text.lines().find(|line| says(line) && line.contains("touch x"));
            assert!(is_plain(&text) && wrong.is_none(), "{file}: {wrong:?}");
            kinds.insert(path.extension().unwrap().to_str().unwrap().to_owned());
        }
        assert!(["f", "core", "ys", "sv"].iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
    }
}
