//! Faults while files are written: short and failing writes, full disks, failing renames, a process
//! that is killed at any moment, two processes at a time. Afterwards either the old or the new set
//! exists, without leftovers.
//!
//! Every verb that writes is a [`Row`] of [`ROWS`].
#![cfg(all(unix, debug_assertions))]

#[path = "faults/table.rs"]
mod table;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use npukit_shared::golden;

use crate::npu::{DIGITS, Files, Npu, array, command, content, text};
use table::{ROWS, Row};

/// More operations than any command has.
const MOST: usize = 200;
/// Number of random moments at which processes are killed, over all rows: it takes minutes.
const KILLS: usize = 24;
const SIGKILL: i32 = 9;

/// Creates a folder with sources, models and inputs for all rows.
fn folder() -> Npu {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    npu.write("b.s", "noop\nnoop\n");
    npu.write("a.host", "reset_kv session=1\n");
    npu.write("b.host", "reset_kv session=1\nload_prompt position=0, token=3\n");
    npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "a.tprog"]);
    npu.json(0, &["asm", "b.s", "--target", "tcu", "-o", "b.tprog"]);
    npu.write("a.asm", "cell(row=0,col=0)\nhalt()");
    npu.write("b.asm", "cell(row=0,col=0)\nwait(cycle=3) halt()");
    for name in ["a", "b"] {
        let program = format!("\"name\": \"{name}\", \"program\": \"{name}.asm\"");
        npu.write(&format!("{name}.drra"), format!("{{ \"architecture\": \"1x1\", {program} }}"));
    }
    npu.json(0, &["zoo", "mlp", "-o", "m.onnx"]);
    npu.json(0, &["zoo", "mlp", "--seed", "1", "-o", "n/m.onnx"]);
    fs::copy(DIGITS, npu.path("d.onnx")).unwrap();
    fs::create_dir(npu.path("bert")).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(golden("llm").join("bert").join(name), npu.path("bert").join(name)).unwrap();
    }
    for (space, strategy) in [("a.toml", "local-vars"), ("b.toml", "local-consts")] {
        npu.write(space, format!("target = \"tcu\"\n[options]\nstrategy = \"{strategy}\"\n"));
    }
    let image = |at: usize| ((at * 7 + 3) % 17) as f32 / 16.0;
    let values: Vec<f32> = (0..2 * 64).map(image).collect();
    npu.write("x.npy", array(&[2, 1, 8, 8], &values));
    npu.write("y.npy", array(&[1, 1, 8, 8], &values[64..]));
    npu
}

/// Returns the old and the new files of a row.
fn sets(npu: &Npu, row: &Row) -> [Files; 2] {
    let [old, new] = [row.makes(), row.replaces()].map(|arguments| {
        let _ = fs::remove_dir_all(npu.path("out"));
        npu.json(0, &arguments);
        content(&npu.path("out"))
    });
    assert_eq!((old.len(), new.len()), (row.files, row.files), "{:?}", row.replaces());
    assert_ne!(old, new, "{:?}", row.replaces());
    [old, new]
}

/// Restores the files in the folder.
fn restore(npu: &Npu, set: &Files) {
    let out = npu.path("out");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).unwrap();
    set.iter().for_each(|(name, bytes)| fs::write(out.join(name), bytes).unwrap());
}

/// Writes into the folder, which cleans up after a killed process.
fn write_there(npu: &Npu) {
    npu.json(0, &["asm", "a.s", "--target", "tcu", "-o", "out/other", "--no-map"]);
    fs::remove_file(npu.path("out/other")).unwrap();
}

/// Checks that the files in `out` are all from one of the sets; returns whether it is the new one.
fn is_new(npu: &Npu, [old, new]: &[Files; 2], place: &str) -> bool {
    let found = content(&npu.path("out"));
    assert!(found == *old || found == *new, "{place}: {:?}", found.keys());
    found == *new
}

fn with_fault(npu: &Npu, fault: &str, arguments: &[&str]) -> Output {
    command(&npu.path("")).env("NPUKIT_FAULT", fault).args(arguments).arg("--json").output().unwrap()
}

/// Tries a kind of fault at each operation of a row, until there are no more operations.
fn try_all(npu: &Npu, how: &str, sets: &[Files; 2], arguments: &[&str], step: usize) {
    let at_fault = |at: usize| {
        restore(npu, &sets[0]);
        let output = with_fault(npu, &format!("{how}@{at}"), arguments);
        let place = format!("{how}@{at} of {arguments:?}: {}", text(&output.stderr));
        judge(npu, sets, &output, &place)
    };
    let faults = (1..MOST).step_by(step).map(at_fault);
    // A short write is not an error, since the rest is written after it: the end of the operations
    // cannot be detected.
    let most = (10 + 8 * sets[1].len()) / step;
    let met = if how == "short" { faults.take(most).count() } else { faults.take_while(|met| *met).count() };
    assert!(met > 0, "{how} never met {arguments:?}");
}

/// Checks the files that a process left behind; returns whether its fault was reached.
fn judge(npu: &Npu, sets: &[Files; 2], output: &Output, place: &str) -> bool {
    if output.status.signal() == Some(SIGKILL) {
        write_there(npu);
        is_new(npu, sets, place);
        return true;
    }
    if !output.status.success() {
        assert_eq!(output.status.code(), Some(1), "{place}");
        if text(&output.stdout).contains("could not be restored yet") {
            assert_ne!(content(&npu.path("out")), sets[0], "{place}");
            write_there(npu);
        }
    }
    assert_eq!(is_new(npu, sets, place), output.status.success(), "{place}");
    !output.status.success()
}

/// Tries a kind of fault in every verb that writes.
fn try_rows(how: &str) {
    let npu = folder();
    for row in &ROWS {
        try_all(&npu, how, &sets(&npu, row), &row.replaces(), row.step);
    }
}

#[test]
fn files_are_old_or_new_if_an_operation_fails() {
    try_rows("fail");
}

#[test]
fn files_are_old_or_new_if_all_operations_fail_from_some_on() {
    try_rows("fails");
}

#[test]
fn files_are_new_if_a_write_is_short() {
    try_rows("short");
}

#[test]
fn files_are_old_or_new_if_the_process_is_killed() {
    try_rows("kill");
}

/// `npu format` is the only verb that may write to its input.
#[test]
fn a_text_is_laid_out_in_its_place_or_stays() {
    let npu = folder();
    let format = ["format", "out/f.asm", "--target", "drra", "-o", "out/f.asm"];
    fs::create_dir(npu.path("out")).unwrap();
    fs::copy(npu.path("b.asm"), npu.path("out/f.asm")).unwrap();
    let old = content(&npu.path("out"));
    npu.json(0, &format);
    let sets = [old, content(&npu.path("out"))];
    for how in ["fail", "fails", "short", "kill"] {
        try_all(&npu, how, &sets, &format, 1);
    }
}

/// Kills processes from outside at many moments: `NPUKIT_KILLS=200` for more of them.
#[test]
fn killed_processes_leave_a_whole_set() {
    let moments = std::env::var("NPUKIT_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let npu = folder();
    let mut replaced = 0;
    for (number, row) in ROWS.iter().enumerate() {
        let sets = sets(&npu, row);
        let whole = duration(&npu, row, &sets[0]);
        let own = moments * (number + 1) / ROWS.len() - moments * number / ROWS.len();
        for moment in 0..own {
            restore(&npu, &sets[0]);
            // The second half of the run has more moments, since files are written there.
            let share = ((moment + 1) as f64 / own as f64).sqrt();
            kill_after(&npu, row, whole.mul_f64(share));
            npu.json(0, &row.reads.split(' ').collect::<Vec<_>>());
            write_there(&npu);
            replaced += usize::from(is_new(&npu, &sets, &format!("{moment} of {:?}", row.replaces())));
        }
    }
    eprintln!("{moments} processes killed, {replaced} of them after the new files were in place");
}

/// Returns how long the command of a row takes.
fn duration(npu: &Npu, row: &Row, old: &Files) -> Duration {
    restore(npu, old);
    let start = Instant::now();
    npu.json(0, &row.replaces());
    start.elapsed()
}

fn kill_after(npu: &Npu, row: &Row, wait: Duration) {
    let mut command = command(&npu.path(""));
    let mut child = command.args(row.replaces()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Runs two processes. Each pauses somewhere while the other continues.
#[test]
fn two_processes_leave_the_set_of_one() {
    let npu = folder();
    for row in &ROWS {
        let sets = sets(&npu, row);
        // A pause takes time: only the longest row tries many of them.
        for at in (1..30).step_by(if row.files == 4 { 5 } else { 15 }) {
            restore(&npu, &sets[0]);
            let start = |arguments: &[&str], at: usize| {
                let mut command = command(&npu.path(""));
                let command = command.args(arguments).env("NPUKIT_FAULT", format!("pause@{at}"));
                command.stdout(Stdio::null()).spawn().unwrap()
            };
            let (mut first, mut second) = (start(&row.makes(), at), start(&row.replaces(), 31 - at));
            assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
            is_new(&npu, &sets, &format!("{at} of {:?}", row.replaces()));
            npu.json(0, &row.reads.split(' ').collect::<Vec<_>>());
        }
    }
}

/// A mixed set that was not made by a signal or a kill: a file was copied.
#[test]
fn a_mixed_set_is_refused() {
    let npu = folder();
    for row in ROWS.iter().filter(|row| row.is_artifact()) {
        let [old, new] = sets(&npu, row);
        let changed = new.keys().filter(|name| old[*name] != new[*name]);
        let refused = changed.map(|name| {
            restore(&npu, &old);
            fs::write(npu.path("out").join(name), &new[name]).unwrap();
            let (_, error) = npu.text(1, &row.reads.split(' ').collect::<Vec<_>>());
            // A certificate contains the hashes of its files.
            let messages = ["the files come from different compilations", "is not valid for these files"];
            assert!(messages.iter().any(|message| error.contains(message)), "{name}: {error}");
        });
        assert!(refused.count() > 1, "{:?}", row.replaces());
    }
}

/// Whether this process ignores a signal, if the system reports it.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1)
}

/// Signals remove temporary files, and end the process as usual.
#[test]
fn signals_leave_no_litter() {
    let npu = Npu::new();
    npu.write("a.s", "noop\n");
    fs::create_dir(npu.path("out")).unwrap();
    // A process that ignores a signal, such as a background job of a script, passes that on: `npu`
    // then continues, too.
    for (signal, number) in
        [("TERM", 15), ("INT", 2), ("HUP", 1)].into_iter().filter(|(_, n)| !is_ignored(*n))
    {
        let mut child = command(&npu.path(""))
            .args(["asm", "a.s", "--target", "tcu", "-o", "out/p"])
            .env("NPUKIT_FAULT", "pause@3")
            .spawn()
            .unwrap();
        let waiting = || content(&npu.path("out")).len();
        while waiting() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "{signal}: it was too fast");
            std::thread::sleep(Duration::from_millis(2));
        }
        let kill = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(number), "{signal}");
        assert_eq!(content(&npu.path("out")).len(), 0, "{signal}");
    }
}

/// `ulimit -f` acts like a full disk; its signal must not kill the process either.
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
