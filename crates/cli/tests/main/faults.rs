//! Faults while files are written: short and failing writes, full disks, failing renames, a process that is killed at
//! any moment, two at a time. Afterwards there is the old set or the new one, and no litter.
#![cfg(all(unix, debug_assertions))]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::npu::{DIGITS, IMAGES, Npu, command, text};

/// More operations than any command has.
const MOST: usize = 200;
const KILLED: i32 = 128 + 9;

/// Files of a folder with what they hold; ours that are not in place are litter.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(file).collect()
}

fn litter(folder: &Path) -> Vec<String> {
    content(folder).into_keys().filter(|name| name.starts_with(".npu-")).collect()
}

fn with_fault(npu: &Npu, fault: &str, arguments: &[&str]) -> Output {
    command(&npu.path("")).env("NPUKIT_FAULT", fault).args(arguments).output().unwrap()
}

/// A program of each verb that writes: what makes the old files, and what replaces them.
struct Verb {
    old: Vec<&'static str>,
    new: Vec<&'static str>,
    /// Files that it writes, all in `out`.
    files: usize,
}

/// Source texts of two programs, two models, inputs; and the verbs on them.
fn verbs(npu: &Npu) -> Vec<Verb> {
    npu.write("a.s", "noop\n");
    npu.write("b.s", "noop\nnoop\n");
    npu.write("x.npy", fs::read(IMAGES).unwrap());
    npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "a.tprog"]);
    npu.json(0, &["asm", "b.s", "--target", "tcu", "-o", "b.tprog"]);
    npu.json(0, &["zoo", "mlp", "-o", "m.onnx"]);
    fs::copy(DIGITS, npu.path("d.onnx")).unwrap();
    vec![
        Verb {
            old: vec!["asm", "a.s", "--target", "tcu", "-o", "out/p.tprog"],
            new: vec!["asm", "b.s", "--target", "tcu", "-o", "out/p.tprog"],
            files: 1,
        },
        Verb {
            old: vec!["disasm", "a.tprog", "--target", "tcu", "-o", "out/p.s"],
            new: vec!["disasm", "b.tprog", "--target", "tcu", "-o", "out/p.s"],
            files: 1,
        },
        Verb {
            old: vec!["zoo", "mlp", "-o", "out/m.onnx"],
            new: vec!["zoo", "mlp", "--seed", "1", "-o", "out/m.onnx"],
            files: 1,
        },
        Verb {
            old: vec!["compile", "d.onnx", "--target", "tcu", "-o", "out"],
            new: vec![
                "compile",
                "d.onnx",
                "--target",
                "tcu",
                "--rescale",
                "never",
                "--strategy",
                "local-vars",
                "-o",
                "out",
            ],
            files: 4,
        },
        Verb {
            old: vec![
                "time",
                "d.onnx",
                "--target",
                "tcu",
                "--trace",
                "out/t.json",
                "--by-instruction",
                "out/i.csv",
            ],
            new: vec![
                "time",
                "d.onnx",
                "--target",
                "tcu",
                "--latency",
                "99",
                "--trace",
                "out/t.json",
                "--by-instruction",
                "out/i.csv",
            ],
            files: 2,
        },
        Verb {
            old: vec![
                "run",
                "d.onnx",
                "--target",
                "tcu",
                "--input",
                "x.npy",
                "-o",
                "out/y.npz",
                "--dump",
                "out/d.npz",
            ],
            new: vec![
                "run",
                "d.onnx",
                "--target",
                "tcu",
                "--input",
                "x.npy",
                "--raw",
                "-o",
                "out/y.npz",
                "--dump",
                "out/d.npz",
            ],
            files: 2,
        },
    ]
}

/// The old and the new set of a verb.
fn sets(npu: &Npu, verb: &Verb) -> [BTreeMap<String, Vec<u8>>; 2] {
    [&verb.old, &verb.new].map(|arguments| {
        reset(npu, verb);
        npu.json(0, arguments);
        content(&npu.path("out"))
    })
}

fn reset(npu: &Npu, verb: &Verb) {
    let _ = fs::remove_dir_all(npu.path("out"));
    npu.json(0, &verb.old);
}

/// Puts files into the folder as they were.
fn restore(npu: &Npu, set: &BTreeMap<String, Vec<u8>>) {
    let out = npu.path("out");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).unwrap();
    set.iter().for_each(|(name, bytes)| fs::write(out.join(name), bytes).unwrap());
}

/// Each kind of fault at each operation of a verb, until there are no more.
fn try_all(npu: &Npu, verb: &Verb, step: usize) {
    let ([old, new], out) = (sets(npu, verb), npu.path("out"));
    assert_eq!((old.len(), new.len()), (verb.files, verb.files), "{:?}", verb.new);
    assert_ne!(old, new, "{:?}", verb.new);
    for how in ["fail", "fails", "short", "kill"] {
        let mut met = false;
        for at in (1..MOST).step_by(step) {
            restore(npu, &old);
            let output = with_fault(npu, &format!("{how}@{at}"), &verb.new);
            let place = format!("{how}@{at} of {:?}: {}", verb.new, text(&output.stderr));
            if how == "kill" && output.status.code() == Some(KILLED) {
                // What is half done is put right by who reads or writes next.
                fs::write(npu.path("out/other.s"), "noop\n").unwrap();
                npu.json(0, &["asm", "out/other.s", "--target", "tcu", "-o", "out/other.tprog"]);
                ["other.s", "other.tprog"].iter().for_each(|name| fs::remove_file(out.join(name)).unwrap());
                let found = content(&out);
                assert!(found == old || found == new, "{place}: {:?}", found.keys());
                met = true;
            } else if output.status.success() {
                assert_eq!(content(&out), new, "{place}");
                if how != "short" {
                    break;
                }
            } else {
                assert_eq!(output.status.code(), Some(1), "{place}");
                if text(&output.stderr).contains("could not be put back yet") {
                    assert_ne!(content(&out), old, "{place}");
                    npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "out/other"]);
                    fs::remove_file(out.join("other")).unwrap();
                }
                assert_eq!(content(&out), old, "{place}");
                met = true;
            }
            assert!(litter(&out).is_empty(), "{place}");
            if how == "short" && at > 30 {
                break;
            }
        }
        assert!(met || how == "short", "{how} never met {:?}", verb.new);
    }
}

#[test]
fn single_files_are_old_or_new() {
    let npu = Npu::new();
    for verb in verbs(&npu).iter().filter(|verb| verb.files == 1) {
        try_all(&npu, verb, 1);
    }
}

#[test]
fn sets_are_old_or_new() {
    let npu = Npu::new();
    for verb in verbs(&npu).iter().filter(|verb| verb.files > 1) {
        // Runs and times take long: every fourth moment of theirs.
        try_all(&npu, verb, if verb.files == 4 { 1 } else { 4 });
    }
}

/// A compilation that is killed for good, at moments that nobody chose.
#[test]
fn killed_compilations_leave_a_whole_set() {
    let npu = Npu::new();
    let all = verbs(&npu);
    let verb = all.iter().find(|verb| verb.files == 4).unwrap();
    let [old, new] = sets(&npu, verb);
    for moment in 0..20 {
        restore(&npu, &old);
        let mut child = command(&npu.path(""))
            .args(&verb.new)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(moment * 3));
        child.kill().unwrap();
        child.wait().unwrap();
        npu.json(0, &["run", "out/d_onnx_pynqz1.tmodel", "--input", "x.npy"]);
        npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "out/other"]);
        fs::remove_file(npu.path("out/other")).unwrap();
        let found = content(&npu.path("out"));
        assert!(found == old || found == new, "{moment}: {:?}", found.keys());
    }
}

/// Two processes, each of which waits somewhere while the other goes on.
#[test]
fn two_processes_leave_the_set_of_one() {
    let npu = Npu::new();
    let all = verbs(&npu);
    let verb = all.iter().find(|verb| verb.files == 4).unwrap();
    let [old, new] = sets(&npu, verb);
    for at in (1..30).step_by(4) {
        restore(&npu, &old);
        let start = |arguments: &[&str], fault: String| {
            let mut command = command(&npu.path(""));
            command.args(arguments).env("NPUKIT_FAULT", fault).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let mut first = start(&verb.old, format!("pause@{at}"));
        let mut second = start(&verb.new, format!("pause@{}", 31 - at));
        assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
        let found = content(&npu.path("out"));
        assert!(found == old || found == new, "{at}: {:?}", found.keys());
        npu.json(0, &["run", "out/d_onnx_pynqz1.tmodel", "--input", "x.npy"]);
    }
}

/// Signals remove what is not in its place, and end as they do.
#[test]
fn signals_leave_no_litter() {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    fs::create_dir(npu.path("out")).unwrap();
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let mut child = command(&npu.path(""))
            .args(["asm", "a.s", "--target", "tcu", "-o", "out/p"])
            .env("NPUKIT_FAULT", "pause@3")
            .spawn()
            .unwrap();
        let waiting = || litter(&npu.path("out")).len();
        while waiting() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "{signal}: it was too fast");
            std::thread::sleep(Duration::from_millis(2));
        }
        let kill = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(number), "{signal}");
        assert_eq!(content(&npu.path("out")).len(), 0, "{signal}");
    }
}

/// `ulimit -f` is a full disk that needs no disk: its signal is no death either.
#[test]
fn files_that_become_too_long_are_an_error() {
    let npu = Npu::new();
    npu.write("m.onnx", "old");
    let script = format!("ulimit -f 1; exec {} zoo resnet20v2 -o m.onnx", env!("CARGO_BIN_EXE_npu"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(npu.path("")).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cannot write `m.onnx`: nothing was written"), "{error}");
    assert_eq!(content(&npu.path("")), [("m.onnx".to_owned(), b"old".to_vec())].into());
}

#[test]
fn devices_pipes_and_links_are_written_through() {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    npu.write("old", "old");
    symlink("old", npu.path("link")).unwrap();
    symlink("later", npu.path("dangling")).unwrap();
    for (path, file) in [("link", "old"), ("dangling", "later")] {
        npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", path]);
        assert!(fs::symlink_metadata(npu.path(path)).unwrap().is_symlink(), "{path}");
        assert_eq!(fs::read(npu.path(file)).unwrap().len(), 8, "{path}");
    }
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

#[test]
fn inputs_and_outputs_are_files_of_their_own() {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    npu.write("x.npy", fs::read(IMAGES).unwrap());
    fs::copy(DIGITS, npu.path("d.onnx")).unwrap();
    symlink("d.onnx", npu.path("link.onnx")).unwrap();
    fs::hard_link(npu.path("d.onnx"), npu.path("hard")).unwrap();
    let before = content(&npu.path(""));
    let run = ["run", "d.onnx", "--target", "tcu", "--input", "x.npy"];
    let refused: [&[&str]; 7] = [
        &[&run[..], &["-o", "d.onnx"]].concat(),
        &[&run[..], &["-o", "./link.onnx"]].concat(),
        &[&run[..], &["-o", "hard"]].concat(),
        &[&run[..], &["-o", "x.npy"]].concat(),
        &[&run[..], &["-o", "f.npz", "--dump", "./f.npz"]].concat(),
        &["asm", "a.s", "--target", "tcu", "-o", "a.s"],
        &["time", "d.onnx", "--target", "tcu", "--trace", "t", "--cycles", "t"],
    ];
    for arguments in refused {
        let (_, error) = npu.text(2, arguments);
        assert!(error.contains("nothing was written"), "{arguments:?}: {error}");
        assert_eq!(content(&npu.path("")), before, "{arguments:?}");
    }
}

/// A mixed set that no signal and no kill made: somebody copied a file.
#[test]
fn a_mixed_set_is_refused() {
    let npu = Npu::new();
    let all = verbs(&npu);
    let verb = all.iter().find(|verb| verb.files == 4).unwrap();
    let [old, new] = sets(&npu, verb);
    for name in new.keys().filter(|name| old[*name] != new[*name]) {
        restore(&npu, &old);
        fs::write(npu.path("out").join(name), &new[name]).unwrap();
        let (_, error) = npu.text(1, &["run", "out/d_onnx_pynqz1.tmodel", "--input", "x.npy"]);
        assert!(error.contains("the files are not of one compilation"), "{name}: {error}");
    }
}

/// Names of a machine's instances and of whole models are in the names of files.
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
