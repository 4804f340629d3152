//! Listings of binary programs and artifacts, and source maps of binary programs.

use std::fs;

use super::npu::{DIGITS, Npu, PERCEPTRON};

/// Checks that the listing of a program, with and without comments, assembles to the same words.
fn assembles_back(npu: &Npu, listed: &str, target: &str, words: &[u8]) {
    for plain in [false, true] {
        let mut arguments = vec!["disasm", listed, "-o", "listing.s"];
        // An artifact specifies its target.
        if !is_artifact(listed) {
            arguments.extend(["--target", target]);
        }
        arguments.extend(plain.then_some("--plain"));
        npu.text(0, &arguments);
        let listing = fs::read_to_string(npu.path("listing.s")).unwrap();
        assert_eq!(!plain, listing.contains("# 0000"), "{listing}");
        assert_eq!(!plain, listing.contains("# layer ") || !is_artifact(listed), "{listing}");
        npu.text(0, &["asm", "listing.s", "--target", target, "-o", "again.words", "--no-map"]);
        assert_eq!(fs::read(npu.path("again.words")).unwrap(), words, "{listed} plain {plain}");
    }
}

fn is_artifact(path: &str) -> bool {
    [".tmodel", ".opu.toml", ".pcp"].iter().any(|ending| path.ends_with(ending))
}

/// The listing of an artifact is that of its words, with the names of its layers, and assembles to
/// them.
#[test]
fn listings_of_artifacts_assemble_to_their_words() {
    for (model, target, words) in
        [(DIGITS, "tcu:pynqz1", ".tprog"), (DIGITS, "opu", ".words"), (PERCEPTRON, "pccx", ".memh")]
    {
        let npu = Npu::new();
        npu.text(0, &["compile", model, "--target", target, "-o", "out"]);
        let names = npu.names("out");
        let ends = |ending: &str| format!("out/{}", names.iter().find(|n| n.ends_with(ending)).unwrap());
        let manifest = names.iter().find(|name| is_artifact(name)).unwrap();
        let mut words = ends(words);
        if words.ends_with(".memh") {
            // The words in hexadecimal, as circuit simulators read them.
            npu.text(0, &["asm", &words, "--target", target, "-o", "own.words"]);
            words = "own.words".to_owned();
        }
        let bytes = fs::read(npu.path(&words)).unwrap();
        assembles_back(&npu, &format!("out/{manifest}"), target, &bytes);
    }
}

/// The listing of an artifact with several programs contains all of them; each file of words
/// assembles from its listing.
#[test]
fn an_artifact_of_kernels_lists_each() {
    let npu = Npu::new();
    npu.text(0, &["compile", PERCEPTRON, "--target", "drra:3x1", "-o", "out"]);
    let names = npu.names("out");
    let (plan, kernels): (Vec<_>, Vec<_>) = names
        .iter()
        .filter(|n| n.ends_with(".plan.json") || n.ends_with(".bin") && !n.contains("constants"))
        .partition(|n| n.ends_with(".plan.json"));
    let (listing, _) = npu.text(0, &["disasm", &format!("out/{}", plan[0])]);
    for (number, kernel) in kernels.iter().enumerate() {
        assert!(listing.contains(&format!("# kernel {number}, ")), "{listing}");
        let path = format!("out/{kernel}");
        for plain in [&[][..], &["--plain"]] {
            let arguments = [&["disasm", &path, "--target", "drra:3x1", "-o", "k.s"], plain].concat();
            npu.text(0, &arguments);
            npu.text(0, &["asm", "k.s", "--target", "drra:3x1", "-o", "k.bin"]);
            assert_eq!(fs::read(npu.path("k.bin")).unwrap(), fs::read(npu.path(&path)).unwrap(), "{kernel}");
        }
    }
    assert!(!kernels.is_empty());
}

/// The message for a file that is not a program of the instance describes what it is.
#[test]
fn what_does_not_fit_is_named() {
    let npu = Npu::new();
    npu.write("p.s", "noop\ndatamove local[5] <- dram0[5], 4\n");
    npu.text(0, &["asm", "p.s", "--target", "tcu:pynqz1", "-o", "p.tprog"]);
    let (_, other) = npu.text(1, &["disasm", "p.tprog", "--target", "tcu:ultra96v2"]);
    assert!(other.contains("not a program for tcu:ultra96v2") && other.contains("tcu:pynqz1"), "{other}");
    let (_, model) = npu.text(1, &["disasm", DIGITS]);
    assert!(model.contains("is a model") && model.contains("npu compile"), "{model}");
    for target in ["tcu:pynqz1", "opu", "pccx:extended", "drra"] {
        let (_, model) = npu.text(1, &["lint", DIGITS, "--target", target]);
        assert!(model.contains("is a model") && model.contains("npu compile"), "{target}: {model}");
    }
    let (_, text) = npu.text(1, &["disasm", "p.s", "--target", "tcu:pynqz1"]);
    assert!(text.contains("is text") && text.contains("npu asm"), "{text}");
    npu.write("bad.tprog", vec![0xff; 8 * 150]);
    let (listing, faults) = npu.text(1, &["disasm", "bad.tprog", "--target", "tcu:pynqz1"]);
    assert_eq!(listing.lines().count(), 150);
    assert_eq!(faults.lines().count(), 101, "{faults}");
    assert!(faults.ends_with("and 50 more\n"), "{faults}");
    npu.write("bad.s", "nope\n".repeat(150));
    let (_, faults) = npu.text(1, &["asm", "bad.s", "--target", "tcu:pynqz1", "-o", "bad.tprog"]);
    assert_eq!(faults.matches("`nope`").count(), 100, "{faults}");
    assert!(faults.contains("150 errors"), "{faults}");
}

/// A fault of a word is reported with its source line, as long as the map next to it belongs to the
/// words.
#[test]
fn words_with_a_map_have_lines() {
    let npu = Npu::new();
    let text = ".macro load row\n  datamove local[\\row] <- dram0[\\row], 4\n.endm\nnoop\nload 5\n";
    npu.write("p.s", text);
    npu.text(0, &["asm", "p.s", "--target", "tcu:pynqz1", "-o", "p.tprog"]);
    // The map contains the text.
    fs::remove_file(npu.path("p.s")).unwrap();
    let run = ["run", "p.tprog", "--target", "tcu:pynqz1"];
    let (message, errors) = npu.text(0, &run);
    let message = message + &errors;
    assert!(message.contains("line 2: instruction 1") && message.contains("called at p.s:5:1"), "{message}");
    let (listing, _) = npu.text(0, &["disasm", "p.tprog", "--target", "tcu:pynqz1"]);
    assert!(listing.lines().nth(1).unwrap().ends_with("  p.s:2"), "{listing}");
    let (message, errors) = npu.text(1, &["run", "p.tprog", "--target", "tcu:pynqz1", "--check"]);
    let message = message + &errors;
    assert!(message.contains("p.s:2:3") && message.contains("datamove local[\\row]"), "{message}");

    // Changed words do not match the map.
    let words = fs::read(npu.path("p.tprog")).unwrap();
    npu.write("p.tprog", &words[8..]);
    let (message, errors) = npu.text(0, &run);
    let message = message + &errors;
    assert!(message.contains("p.tprog.map is not used") && !message.contains("line 2"), "{message}");

    npu.write("q.s", "noop\n");
    npu.text(0, &["asm", "q.s", "--target", "tcu:pynqz1", "-o", "q.tprog", "--no-map"]);
    npu.text(0, &["asm", "q.s", "--target", "tcu:pynqz1", "-o", "r.tprog", "--map", "lines.json"]);
    assert_eq!(npu.names(""), ["lines.json", "p.tprog", "p.tprog.map", "q.s", "q.tprog", "r.tprog"]);
}

/// A finding has a line if the program is text, or words with a map.
#[test]
fn findings_have_lines() {
    let npu = Npu::new();
    npu.write("k.s", "cell (row=1, col=0)\n\nact(ports=1, param=1)\nbrn(reg=1, target_true=-1)\nhalt()\n");
    npu.text(0, &["asm", "k.s", "--target", "drra:3x1", "-o", "k.bin"]);
    for file in ["k.s", "k.bin"] {
        let found = npu.run(&["lint", file, "--target", "drra:3x1", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
        let branch = report["diagnostics"].as_array().unwrap().iter().find(|d| d["code"] == "no-branch");
        let branch = branch.unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!((&branch["file"], &branch["line"]), (&"k.s".into(), &4.into()), "{report:#}");
        let text = npu.run(&["lint", file, "--target", "drra:3x1"]);
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.contains("line 4:") && text.contains("brn(reg=1, target_true=-1)\n"), "{text}");
    }
}
