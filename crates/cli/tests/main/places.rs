//! Targets of outputs: devices, pipes, links, input files; and sets of files that belong together.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::npu::{ASSETS, DIGITS, IMAGES, Npu, array, content, text};
use crate::onnx::{Model, SIZE, weights};

#[test]
fn devices_are_written_through_and_links_are_replaced() {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    npu.write("old", "old");
    symlink("old", npu.path("link")).unwrap();
    symlink("later", npu.path("dangling")).unwrap();
    for (path, file) in [("link", "old"), ("dangling", "later")] {
        npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", path]);
        assert!(fs::symlink_metadata(npu.path(path)).unwrap().is_file(), "{path}");
        assert_eq!(fs::read(npu.path(path)).unwrap().len(), 8, "{path}");
        assert_ne!(fs::read(npu.path(file)).ok(), fs::read(npu.path(path)).ok(), "{path}");
    }
    assert_eq!(fs::read(npu.path("old")).unwrap(), b"old");
    assert!(!npu.path("later").exists());
    let out = npu.run(&["asm", "a.s", "--target", "tcu", "-o", "/dev/stdout"]);
    assert!(out.stdout.starts_with(&[0; 8]), "{out:?}");
    let null = || fs::metadata("/dev/null").unwrap().file_type();
    let before = null();
    npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "/dev/null"]);
    assert_eq!(null(), before);
    if Path::new("/dev/full").exists() {
        let (_, error) = npu.text(1, &["asm", "a.s", "--target", "tcu", "-o", "/dev/full"]);
        assert!(error.contains("cannot write `/dev/full`"), "{error}");
    }
}

/// The files of an artifact replace links in its folder, and leave the targets of the links
/// unchanged.
#[test]
fn artifacts_are_not_written_through_links() {
    let npu = Npu::new();
    npu.json(0, &["compile", DIGITS, "--target", "tcu", "-o", "plain"]);
    let names: Vec<String> = content(&npu.path("plain")).into_keys().collect();
    assert!(names.len() > 1, "{names:?}");
    fs::create_dir(npu.path("out")).unwrap();
    for name in &names {
        npu.write(&format!("victim_{name}"), "precious");
        symlink(format!("../victim_{name}"), npu.path("out").join(name)).unwrap();
    }
    npu.json(0, &["compile", DIGITS, "--target", "tcu", "-o", "out"]);
    for name in &names {
        assert_eq!(fs::read(npu.path(&format!("victim_{name}"))).unwrap(), b"precious", "{name}");
        assert!(fs::symlink_metadata(npu.path("out").join(name)).unwrap().is_file(), "{name}");
    }
    assert_eq!(content(&npu.path("out")), content(&npu.path("plain")));
}

/// The parts of an artifact are in its folder: links within it are followed, links that leave it
/// are rejected.
#[test]
fn artifacts_are_not_read_through_links() {
    let npu = Npu::new();
    npu.json(0, &["compile", DIGITS, "--target", "tcu", "-o", "out"]);
    let manifest = "out/digits_onnx_pynqz1.tmodel";
    let part = npu.path(manifest).with_extension("tdata");
    fs::rename(&part, npu.path("out/other")).unwrap();
    symlink("other", &part).unwrap();
    npu.json(0, &["run", manifest, "--input", IMAGES]);
    fs::rename(npu.path("out/other"), npu.path("elsewhere")).unwrap();
    fs::remove_file(&part).unwrap();
    symlink("../elsewhere", &part).unwrap();
    for verb in ["run", "time", "lint"] {
        let line = match verb {
            "run" => vec![verb, manifest, "--input", IMAGES],
            _ => vec![verb, manifest],
        };
        let (_, error) = npu.text(1, &line);
        assert!(error.contains("must be in its folder"), "{verb}: {error}");
    }
}

/// Every verb that reads and writes: an output that is an input would destroy it.
#[test]
fn inputs_and_outputs_are_files_of_their_own() {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "a.tprog"]);
    ["x.npy", "y.npy"].iter().for_each(|name| npu.write(name, fs::read(IMAGES).unwrap()));
    fs::copy(DIGITS, npu.path("d.onnx")).unwrap();
    for asset in ["adder.toml", "adder.safetensors"] {
        fs::copy(format!("{ASSETS}/{asset}"), npu.path(asset)).unwrap();
    }
    symlink("d.onnx", npu.path("link")).unwrap();
    for (file, name) in [("d.onnx", "hard"), ("x.npy", "x"), ("y.npy", "y")] {
        fs::hard_link(npu.path(file), npu.path(name)).unwrap();
    }
    // Names of artifacts cannot be chosen: links make them inputs.
    fs::create_dir(npu.path("out")).unwrap();
    symlink("../d.onnx", npu.path("out/d_onnx_pynqz1.tdata")).unwrap();
    symlink("../adder.safetensors", npu.path("out/adder_step_reference.memh")).unwrap();
    let before = content(&npu.path(""));
    for line in [
        "run d.onnx --target tcu --input x.npy -o ./link",
        "run d.onnx --target tcu --input x.npy -o hard",
        "run d.onnx --target tcu --input x.npy -o x",
        "run d.onnx --target tcu --input x.npy --dump x",
        "run d.onnx --target tcu --input x.npy --calibrate y.npy -o y",
        "run d.onnx --target tcu --input x.npy -o f.npz --dump ./f.npz",
        "eval d.onnx --input x.npy -o hard",
        "eval d.onnx --input x.npy -o out/../x",
        "asm a.s --target tcu -o a.s",
        "disasm a.tprog --target tcu -o a.tprog",
        "time d.onnx --target tcu --trace t --samples t",
        "time d.onnx --target tcu --trace hard",
        "time d.onnx --target tcu --samples d.onnx",
        "time d.onnx --target tcu --by-instruction link",
        "compile d.onnx --target tcu -o out",
        "generate 1+1= --model adder.toml --target pccx --tokens 1 -o out",
    ] {
        let (_, error) = npu.text(2, &line.split(' ').collect::<Vec<_>>());
        assert!(error.contains("nothing was written"), "{line}: {error}");
        assert_eq!(content(&npu.path("")), before, "{line}");
    }
}

/// Weights next to a model must be regular files in its folder: anything else is rejected at once.
#[test]
fn weights_lie_in_the_folder_of_their_model() {
    let npu = Npu::new();
    fs::create_dir_all(npu.path("model/data")).unwrap();
    npu.write("x.npy", array(&[1, SIZE], &[1.0; SIZE]));
    npu.write("secret", weights());
    npu.write("model/data/w.bin", weights());
    npu.write("model/short.bin", &weights()[1..]);
    symlink("data/w.bin", npu.path("model/inside")).unwrap();
    for (link, end) in
        [("out", "../secret"), ("zero", "/dev/zero"), ("null", "/dev/null"), ("gone", "nowhere")]
    {
        symlink(end, npu.path("model").join(link)).unwrap();
    }
    symlink("..", npu.path("model/up")).unwrap();
    symlink("circle", npu.path("model/circle")).unwrap();
    let pipe = npu.path("model/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let eval = |file: &str| {
        npu.write("model/m.onnx", Model { external: Some(file), ..Model::default() }.bytes());
        let line = ["eval", "model/m.onnx", "--input", "x.npy"];
        let output = npu.run(&line);
        (output.status.code(), text(&output.stderr))
    };
    for inside in ["data/w.bin", "inside", "./data/w.bin"] {
        let (status, error) = eval(inside);
        assert_eq!(status, Some(0), "{inside}: {error}");
    }
    let absolute = npu.path("secret").to_str().unwrap().to_owned();
    for (file, reason) in [
        ("../secret", "the path leaves the model's folder"),
        ("data/../data/w.bin", "the path leaves the model's folder"),
        ("data/../../secret", "the path leaves the model's folder"),
        (&absolute, "the path leaves the model's folder"),
        ("out", "must be in its folder"),
        ("up/secret", "must be in its folder"),
        ("zero", "must be in its folder"),
        ("null", "must be in its folder"),
        ("pipe", "it is not a regular file"),
        ("data", "directory"),
        ("circle", "cannot read"),
        ("gone", "cannot read"),
        ("absent", "there is no such file"),
        ("short.bin", "63"),
        ("", "the path leaves the model's folder"),
    ] {
        let (status, error) = eval(file);
        assert_eq!(status, Some(1), "{file}: {error}");
        assert!(error.contains(reason), "{file}: {error}");
    }
}

/// Inputs must be regular files, too: a pipe may block, a device may never end.
#[test]
fn inputs_are_regular_files() {
    let npu = Npu::new();
    fs::copy(DIGITS, npu.path("d.onnx")).unwrap();
    assert!(Command::new("mkfifo").arg(npu.path("pipe")).status().unwrap().success());
    for (file, ending) in [("pipe", "npy"), ("/dev/zero", "npy"), ("pipe", "onnx"), ("/dev/zero", "s")] {
        let link = npu.path(&format!("link.{ending}"));
        let _ = fs::remove_file(&link);
        symlink(file, &link).unwrap();
        let line = match ending {
            "npy" => "eval d.onnx --input link.npy",
            "onnx" => "check link.onnx --target tcu",
            _ => "asm link.s --target tcu -o p",
        };
        let (_, error) = npu.text(1, &line.split(' ').collect::<Vec<_>>());
        assert!(error.contains("it is not a regular file"), "{file}: {error}");
    }
    assert!(!npu.path("p").exists());
}

/// File names contain the names of instances and of whole models.
#[test]
fn instances_and_models_do_not_overwrite_each_other() {
    let npu = Npu::new();
    for model in ["d.v1.onnx", "d.v2.onnx"] {
        fs::copy(DIGITS, npu.path(model)).unwrap();
        for target in ["opu:reference", "opu:ideal"] {
            npu.json(0, &["compile", model, "--target", target, "-o", "out"]);
        }
    }
    let names = npu.names("out");
    let manifests: Vec<&String> = names.iter().filter(|name| name.ends_with(".opu.toml")).collect();
    let expected = ["d_v1_onnx_ideal", "d_v1_onnx_reference", "d_v2_onnx_ideal", "d_v2_onnx_reference"];
    assert_eq!(manifests, expected.map(|stem| format!("{stem}.opu.toml")).iter().collect::<Vec<_>>());
}
