//! Tests that read the files back with Surfer's library.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{self, Cursor};

use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};
use wellen::{SignalValueRef, VarType, simple};

use super::Fst;
use crate::model::{About, Interval, Role, Shown, Sink, Track, Value};
use crate::recorder::{Measures, Recorder, Slice, Wait};

/// File as a viewer reads it.
struct Waves {
    read: simple::Waveform,
    save: String,
    commands: String,
}

/// Records a trace and reads the file.
fn waves(about: About, record: impl FnOnce(&mut Recorder<'_>) -> u64) -> Waves {
    let (mut file, mut save, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    let fst = Fst::new(&mut file).with_gtkwave(&mut save, Some("x.fst")).with_surfer(&mut commands);
    let mut recorder = Recorder::new(fst, about, None);
    let cycles = record(&mut recorder);
    recorder.finish(cycles).unwrap();
    let [save, commands] = [save, commands].map(|text| String::from_utf8(text).unwrap());
    Waves { read: read(file), save, commands }
}

fn read(file: Vec<u8>) -> simple::Waveform {
    let mut read = simple::read_from_reader(Cursor::new(file)).unwrap();
    let all: Vec<_> = read.hierarchy().signals().collect();
    read.load_signals(&all);
    read
}

impl Waves {
    /// Names of all signals.
    fn names(&self) -> Vec<String> {
        let hierarchy = self.read.hierarchy();
        hierarchy.all_vars().map(|var| hierarchy[var].full_name(hierarchy)).collect()
    }

    /// Changes of a signal: time, and value as a viewer shows it, with `z` for undriven.
    fn changes(&self, name: &str) -> Vec<(u64, String)> {
        let hierarchy = self.read.hierarchy();
        let var = hierarchy.all_vars().find(|var| hierarchy[*var].full_name(hierarchy) == name);
        let var = &hierarchy[var.unwrap_or_else(|| panic!("no {name} in {:?}", self.names()))];
        let signal = self.read.get_signal(var.signal_ref()).unwrap();
        let times = self.read.time_table();
        let change = |(index, value)| (times[index as usize], shown(var.var_type(), value));
        signal.iter_changes().map(change).collect()
    }

    /// Asserts the values and the cycles at which they start.
    fn expect(&self, name: &str, expected: &[(u64, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(at, value)| (*at, (*value).to_owned())).collect();
        assert_eq!(self.changes(name), expected, "{name}");
    }
}

/// Value of a signal at a time.
fn at(changes: &[(u64, String)], time: u64) -> &str {
    let after = changes.partition_point(|(at, _)| *at <= time);
    &changes[after - 1].1
}

fn shown(kind: VarType, value: SignalValueRef<'_>) -> String {
    let bits = match value {
        SignalValueRef::Real(value) => return value.to_string(),
        value => value.to_bit_string().unwrap(),
    };
    if bits.bytes().all(|bit| bit == b'z') {
        return "z".to_owned();
    }
    match kind {
        VarType::Reg => {
            let bytes = bits.as_bytes().chunks(8).map(|bits| str::from_utf8(bits).unwrap());
            let characters = bytes.map(|bits| char::from(u8::from_str_radix(bits, 2).unwrap()));
            characters.skip_while(|c| *c == '\0').collect()
        }
        VarType::Integer => {
            assert!(bits.starts_with('0'), "no sign: {bits}");
            u64::from_str_radix(&bits, 2).unwrap().to_string()
        }
        VarType::Wire => bits,
        other => panic!("{other:?}"),
    }
}

/// Two units: a decoder that waits, and an array that works, with overlapping slices.
fn two_units(recorder: &mut Recorder<'_>) -> u64 {
    let decoder = recorder.unit("decoder", Measures::default());
    let array = recorder.unit("DRAM 0, read", Measures { utilization: true, bytes: true });
    let gauge = recorder.gauge("live vectors of local memory", "vectors");
    recorder.layer(0, 0, 10);
    recorder.layer(1, 10, 30);
    for (index, start) in [0u64, 1, 12].into_iter().enumerate() {
        let (layer, instruction) = (Some(usize::from(start > 10)), Some(index + 100));
        let base = Slice { start, layer, instruction, ..Slice::default() };
        recorder.slice(decoder, &Slice { name: "decode", cycles: 1, busy: 1, ..base });
        let details = [("address", Value::Number(64 * start)), ("bound", Value::Text("compute"))];
        // The second one begins before the first one ends, and is cut off.
        let (bytes, details) = (if index == 1 { 0 } else { 32 }, &details[..]);
        let slice =
            Slice { name: ["MatMul", "Load\n", "Store"][index], cycles: 8, busy: 4, bytes, details, ..base };
        recorder.slice(array, &slice);
        recorder.level(gauge, start, 3 + index as u64, layer);
    }
    let wait = Wait {
        on: "room in the queue",
        start: 2,
        cycles: 10,
        waited: 7,
        layer: None,
        instruction: Some(102),
    };
    recorder.wait(decoder, &wait);
    40
}

fn about(clock_mhz: Option<f64>) -> About {
    let layers = ["conv", "fc"].map(str::to_owned).into();
    About { program: "a program".to_owned(), clock_mhz, cycles: 40, layers }
}

#[test]
fn signals_change_as_was_recorded() {
    let waves = waves(about(None), two_units);
    waves.expect("program.layer", &[(0, "conv"), (10, "fc"), (40, "z")]);
    waves.expect("program.instruction", &[(0, "100"), (1, "101"), (12, "102")]);
    waves.expect("decoder.operation", &[(0, "decode"), (2, "z"), (12, "decode"), (13, "z")]);
    waves.expect("decoder.active", &[(0, "1"), (2, "0"), (12, "1"), (13, "0")]);
    waves.expect("decoder.instruction", &[(0, "100"), (1, "101"), (2, "z"), (12, "102"), (13, "z")]);
    waves.expect("decoder.layer", &[(0, "conv"), (2, "z"), (12, "fc"), (13, "z")]);
    waves.expect("decoder.waits_for", &[(0, "z"), (2, "room in the queue"), (12, "z")]);
    waves.expect("decoder.wait_waited", &[(0, "z"), (2, "7"), (12, "z")]);
    waves.expect("decoder.wait_instruction", &[(0, "z"), (2, "102"), (12, "z")]);
    let unit = |name: &str| format!("DRAM_0_read.{name}");
    waves.expect(&unit("operation"), &[(0, "MatMul"), (8, "Load\\n"), (16, "Store"), (24, "z")]);
    waves.expect(&unit("active"), &[(0, "1"), (24, "0")]);
    waves.expect(&unit("busy"), &[(0, "4"), (24, "z")]);
    waves.expect(&unit("bytes"), &[(0, "32"), (8, "0"), (16, "32"), (24, "z")]);
    waves.expect(&unit("address"), &[(0, "0"), (8, "64"), (16, "768"), (24, "z")]);
    waves.expect(&unit("bound"), &[(0, "compute"), (24, "z")]);
    // Windows of 16 cycles: 64 bytes are in the first, except for cycles 16 to 20 of the third
    // slice.
    waves.expect(&unit("utilization"), &[(0, "62.5"), (16, "12.5"), (32, "0")]);
    waves.expect(&unit("bytes_a_cycle"), &[(0, "3"), (16, "1"), (32, "0")]);
    waves.expect("memories.live_vectors_of_local_memory", &[(0, "5"), (40, "0")]);
    let others = ["decoder.busy", "DRAM_0_read.layer", "DRAM_0_read.instruction"];
    waves.expect(others[0], &[(0, "1"), (2, "z"), (12, "1"), (13, "z")]);
    waves.expect(others[1], &[(0, "conv"), (16, "fc"), (24, "z")]);
    waves.expect(others[2], &[(0, "100"), (8, "101"), (16, "102"), (24, "z")]);
    assert_eq!(waves.names().len(), 21, "no others: {:?}", waves.names());
    assert_eq!(waves.read.time_table().last(), Some(&40));
    assert_eq!(waves.read.hierarchy().timescale().unwrap().unit.to_exponent(), Some(-9));
    assert!(waves.read.hierarchy().version().ends_with(": a program"));
}

#[test]
fn with_a_clock_times_are_real_and_edges_know_their_cycle() {
    let waves = waves(about(Some(300.0)), two_units);
    assert_eq!(waves.read.hierarchy().timescale().unwrap().unit.to_exponent(), Some(-12));
    let edges = [(0, "decode"), (6667, "z"), (40000, "decode"), (43333, "z")];
    waves.expect("decoder.operation", &edges);
    let cycles = waves.changes("program.cycle");
    for (signal, _) in waves.names().iter().map(|name| (waves.changes(name), name)) {
        for (time, _) in signal {
            let cycle: u64 = at(&cycles, time).parse().unwrap();
            assert_eq!((cycle as f64 * 1e6 / 300.0).round() as u64, time);
        }
    }
    assert_eq!(cycles.last().unwrap(), &(133_333, "40".to_owned()));
}

#[test]
fn what_begins_in_disorder_or_late_is_refused() {
    let shown = Shown { name: "unit", role: Role::Unit, parent: None, unit: None };
    let interval = |start, end| Interval { name: "x", start, end, details: &[], flows: &[], work: None };
    let mut fst = Fst::new(io::sink());
    fst.track(Track(1), &shown).unwrap();
    fst.slice(Track(1), &interval(5, 9)).unwrap();
    let error = fst.slice(Track(1), &interval(8, 10)).unwrap_err();
    assert_eq!(error.to_string(), "the track `unit` has an event in cycle 8 after one in cycle 9");
    fst.slice(Track(1), &interval(9, u64::MAX)).unwrap();
    assert_eq!(fst.end().unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn nothing_recorded_is_a_file_too() {
    for cycles in [0, 7] {
        let waves = waves(About::default(), |recorder| {
            recorder.unit("unit", Measures::default());
            cycles
        });
        assert_eq!(waves.changes("unit.operation"), [(0, "z".to_owned())]);
        assert_eq!(waves.read.time_table().last(), Some(&cycles.max(1)));
    }
}

#[test]
fn names_are_legal_and_told_apart() {
    let waves = waves(About::default(), |recorder| {
        for name in ["program", "a.b [1]", "a b 1", "memories", "\u{e9}"] {
            let unit = recorder.unit(name, Measures::default());
            let details =
                [("active", Value::Number(1)), ("a b", Value::Number(2)), ("a b", Value::Text("t"))];
            recorder.slice(unit, &Slice { name, cycles: 3, busy: 3, details: &details, ..Slice::default() });
        }
        recorder.gauge("level", "words");
        3
    });
    let names = waves.names();
    let scopes: Vec<_> = names.iter().filter_map(|name| name.strip_suffix(".operation")).collect();
    assert_eq!(scopes, ["program_2", "a_b_1", "a_b_1_2", "memories_2", "unnamed"]);
    for (name, value) in [("active", "1"), ("active_2", "1"), ("a_b", "2"), ("a_b_2", "t"), ("busy", "3")] {
        assert_eq!(waves.changes(&format!("unnamed.{name}"))[0].1, value, "{name}");
    }
    assert_eq!(waves.changes("unnamed.operation")[0].1, "\\u{e9}");
    assert!(names.contains(&"memories.level".to_owned()));
}

#[test]
fn a_failure_of_any_writer_is_said() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for fst in [
        Fst::new(Box::new(Full) as Box<dyn io::Write>),
        Fst::new(Box::new(io::sink()) as Box<dyn io::Write>).with_gtkwave(Full, None),
        Fst::new(Box::new(io::sink()) as Box<dyn io::Write>).with_surfer(Full),
    ] {
        let error = Recorder::new(fst, about(None), None).finish(3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

#[test]
fn the_save_file_and_the_commands_name_what_is_there() {
    let waves = waves(about(Some(300.0)), two_units);
    let names = waves.names();
    let signals =
        waves.save.lines().filter_map(|line| line.rsplit(' ').next()).filter(|word| word.contains('.'));
    let named: Vec<_> = signals.filter(|word| !word.starts_with(['*', '[', '"', '@'])).collect();
    assert!(named.len() > names.len(), "{}", waves.save);
    for name in &named {
        let (name, range) = name.split_once('[').unwrap_or((name, ""));
        let place = names.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name}"));
        let hierarchy = waves.read.hierarchy();
        let var = &hierarchy[hierarchy.all_vars().nth(place).unwrap()];
        let bits = var.length(hierarchy).unwrap_or(0);
        let expected =
            if var.var_type() == VarType::Reg { format!("{}:0]", bits - 1) } else { String::new() };
        assert_eq!(range, expected, "{name}");
    }
    for name in &names {
        assert!(named.iter().any(|named| named.split('[').next() == Some(name)), "{name} is not shown");
    }
    let opened = waves.save.matches("@800200").count() + waves.save.matches("@c00200").count();
    let closed = waves.save.matches("@1000200").count() + waves.save.matches("@1400200").count();
    assert_eq!((opened, closed), (6, 6));
    for line in waves.commands.lines().filter_map(|line| line.strip_prefix("variable_add ")) {
        assert!(names.iter().any(|name| name == line), "{line}");
    }
    assert!(waves.commands.contains("item_focus d_decoder.operation\nitem_set_format ASCII\nitem_unfocus\n"));
}

/// Slices of a unit: distance from the previous one, length, and name.
type Described = Vec<(u64, u64, usize)>;

fn described() -> impl Strategy<Value = [Described; 2]> {
    let slices = || prop::collection::vec((0u64..12, 0u64..9, 0usize..4), 0..60);
    [slices(), slices()]
}

const NAMES: [&str; 4] = ["0", "1", "MatMul", ""];

/// For each cycle, the name and index of the slice that covers it; a slice that overlaps the
/// previous one is cut off.
fn covering(described: &Described) -> Vec<Option<(usize, usize)>> {
    let (mut cycles, mut start) = (Vec::new(), 0);
    for (place, (after, long, name)) in described.iter().enumerate() {
        start += after;
        let first = start.max(cycles.len() as u64);
        cycles.resize(first as usize, None);
        cycles.resize((first + long) as usize, Some((*name, place)));
    }
    cycles
}

proptest! {
    #[test]
    fn an_operation_is_that_of_the_slice_that_covers_the_cycle(described in described(), has_clock in any::<bool>()) {
        let covering: Vec<_> = described.iter().map(covering).collect();
        let about = About { clock_mhz: has_clock.then_some(700.0), ..About::default() };
        let waves = waves(about, |recorder| {
            for (unit, described) in described.iter().enumerate() {
                let track = recorder.unit(["a", "b"][unit], Measures::default());
                let mut start = 0;
                for (place, &(after, cycles, name)) in described.iter().enumerate() {
                    start += after;
                    let (name, instruction) = (NAMES[name], Some(place));
                    recorder.slice(track, &Slice { name, start, cycles, instruction, ..Slice::default() });
                }
            }
            5
        });
        for (unit, covering) in ["a", "b"].into_iter().zip(&covering) {
            let [operation, active] = ["operation", "active"].map(|name| waves.changes(&format!("{unit}.{name}")));
            let instruction = waves.names().contains(&format!("{unit}.instruction"));
            let instruction = instruction.then(|| waves.changes(&format!("{unit}.instruction")));
            for (cycle, covered) in covering.iter().chain([&None]).enumerate() {
                let time = if has_clock { (cycle as f64 * 1e6 / 700.0).round() as u64 } else { cycle as u64 };
                prop_assert_eq!(at(&operation, time), covered.map_or("z", |(name, _)| NAMES[name]));
                prop_assert_eq!(at(&active, time), if covered.is_some() { "1" } else { "0" });
                if let Some(instruction) = &instruction {
                    let place = covered.map_or("z".to_owned(), |(_, place)| place.to_string());
                    prop_assert_eq!(at(instruction, time), place);
                }
            }
        }
    }
}
