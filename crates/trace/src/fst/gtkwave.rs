//! [`save_file`]: returns the text of a GTKWave save file, which configures the view.
//!
//! A line `@` with hexadecimal flags sets the format of the following signals; a line `-` is a
//! heading. The order is: the program; work and waits of each unit, named after the unit; curves;
//! all signals of each unit, in closed groups.

use std::fmt::Write;

use super::signals::{Form, MEMORIES, PROGRAM, Purpose, Scope, Signal, Signals};

/// Names are right-aligned, next to the waves.
const RIGHT: u64 = 0x20;
const DECIMAL: u64 = 0x4;
const BINARY: u64 = 0x8;
const ASCII: u64 = 0x800;
/// Step curve, scaled to its minimum and maximum.
const STEPS: u64 = 0x8000 | 0x80000;
/// Space for the curve above.
const ROOM: &str = "@20000\n-\n-\n";
/// Heading.
const HEADING: u64 = 0x200;
const OPENS: u64 = 0x80_0000;
const CLOSES: u64 = 0x100_0000;
/// Group that shows only its heading.
const CLOSED: u64 = 0x40_0000;
/// Waits are orange, the program is yellow, all other signals have the default color.
const ORANGE: u8 = 2;
const YELLOW: u8 = 3;
/// Width of the waves in pixels, in which the whole trace is shown.
const PIXELS: f64 = 900.0;
/// Pixels between time marks at zoom 0.
const MARK: f64 = 200.0;

/// Returns the text of a save file for signals up to the time `end`, with an optional note at the
/// top.
pub(super) fn save_file(signals: &Signals, note: Option<&str>, end: u64, waveforms: Option<&str>) -> String {
    let mut save = String::from("[*]\n[*] GTKWave save file, by npukit\n[*]\n");
    if let Some(name) = waveforms {
        line(&mut save, format_args!("[dumpfile] \"{}\"", name.replace(['\n', '"'], "_")));
    }
    let zoom = -(end.max(1) as f64 / PIXELS * MARK).log2();
    line(
        &mut save,
        format_args!(
            "[timestart] 0\n[size] 1600 900\n[sst_width] 170\n[signals_width] 400\n[sst_expanded] 1"
        ),
    );
    line(&mut save, format_args!("*{zoom:.6} 0{}", " -1".repeat(26)));
    if let Some(note) = note {
        line(&mut save, format_args!("@{HEADING:x}\n-{note}"));
    }
    let scopes = |wanted: &'static [&'static str], is_one: bool| {
        signals.scopes.iter().filter(move |scope| wanted.contains(&scope.name.as_str()) == is_one)
    };
    scopes(&[PROGRAM], true).for_each(|scope| group(&mut save, &scope.name, false, |save| all(save, scope)));
    group(&mut save, "units", false, |save| {
        scopes(&[PROGRAM, MEMORIES], false).for_each(|scope| main(save, scope))
    });
    scopes(&[MEMORIES], true).for_each(|scope| group(&mut save, &scope.name, false, |save| all(save, scope)));
    group(&mut save, "counters", false, |save| {
        scopes(&[PROGRAM, MEMORIES], false).for_each(|scope| curves(save, scope));
    });
    scopes(&[PROGRAM, MEMORIES], false)
        .for_each(|scope| group(&mut save, &scope.name, true, |save| all(save, scope)));
    save
}

/// Writing to a string cannot fail.
fn line(save: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(save, "{text}");
}

/// Writes a group with a heading; nothing if the group is empty.
fn group(save: &mut String, name: &str, is_closed: bool, fill: impl FnOnce(&mut String)) {
    let mut inside = String::new();
    fill(&mut inside);
    if inside.is_empty() {
        return;
    }
    let closed = if is_closed { CLOSED } else { 0 };
    line(save, format_args!("@{:x}\n-{name}", HEADING | OPENS | closed));
    save.push_str(&inside);
    line(save, format_args!("@{:x}\n-{name}", HEADING | CLOSES | closed));
}

fn all(save: &mut String, scope: &Scope) {
    scope.signals.iter().for_each(|(_, signal)| show(save, scope, signal, None));
}

/// Writes the work and waits of a unit, with the unit's name.
fn main(save: &mut String, scope: &Scope) {
    for (_, signal) in &scope.signals {
        match signal.purpose {
            Purpose::Operation => show(save, scope, signal, Some(&scope.name)),
            Purpose::Waits => show(save, scope, signal, Some(&format!("{} waits for", scope.name))),
            Purpose::Program | Purpose::Active | Purpose::Detail | Purpose::Curve => {}
        }
    }
}

fn curves(save: &mut String, scope: &Scope) {
    let curves = scope.signals.iter().filter(|(_, signal)| signal.purpose == Purpose::Curve);
    curves
        .for_each(|(_, signal)| show(save, scope, signal, Some(&format!("{} {}", scope.name, signal.name))));
}

/// Writes a signal, with an alias if there is one.
fn show(save: &mut String, scope: &Scope, signal: &Signal, alias: Option<&str>) {
    let is_curve = signal.purpose == Purpose::Curve;
    let format = match signal.form {
        Form::Bit => BINARY,
        Form::Text(_) => ASCII,
        Form::Integer(_) => DECIMAL,
        Form::Real => 0,
    };
    line(save, format_args!("@{:x}", format | RIGHT | if is_curve { STEPS } else { 0 }));
    match signal.purpose {
        Purpose::Waits => line(save, format_args!("[color] {ORANGE}")),
        Purpose::Program => line(save, format_args!("[color] {YELLOW}")),
        Purpose::Operation | Purpose::Active | Purpose::Detail | Purpose::Curve => {}
    }
    if let Some(alias) = alias {
        let _ = write!(save, "+{{{alias}}} ");
    }
    line(save, format_args!("{}.{}{}", scope.name, signal.name, Range(signal.form)));
    if is_curve {
        save.push_str(ROOM);
    }
}

/// Suffix that GTKWave adds to the names of vectors.
struct Range(Form);

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Form::Text(characters) => write!(f, "[{}:0]", 8 * characters - 1),
            Form::Bit | Form::Integer(_) | Form::Real => Ok(()),
        }
    }
}
