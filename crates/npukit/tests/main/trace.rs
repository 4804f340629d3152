//! Traces of all targets: files contain what was recorded, and add up to the figures of reports.

use std::collections::BTreeMap;
use std::io::{self, Read};

use npukit::verbs::time::{Report, Request, Sinks, time_with};
use npukit::{Error, Source};
use npukit_target::{Compiled, OUTSIDE, TimeOptions, TimeReport, TraceFormat, write_trace};
use npukit_trace::proto::{self, TracePacket};
use npukit_trace::{About, Flow, Interval, Recorder, Shown, Sink, Track, Value};
use prost::Message;
use serde_json::Value as Json;

use crate::memory::{Memory, digits};

/// Slice: name, start and end in nanoseconds, details, flows from and to it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Drawn {
    name: String,
    start: u64,
    end: u64,
    details: BTreeMap<String, String>,
    from: Vec<u64>,
    to: Vec<u64>,
}

/// Track: its name below its parent's, its slices, and the times (nanoseconds) and values of a
/// counter.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    name: String,
    slices: Vec<Drawn>,
    values: Vec<(u64, f64)>,
}

impl Drawn {
    fn number(&self, key: &str) -> Option<u64> {
        self.details.get(key).map(|value| value.parse().unwrap())
    }
}

/// Trace in memory.
#[derive(Clone, Debug, Default)]
struct Trace {
    about: About,
    lines: Vec<Line>,
}

impl Trace {
    fn line(&self, name: &str) -> &Line {
        self.lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("no track `{name}`"))
    }

    fn below(&self, parent: Option<usize>, name: &str) -> String {
        parent.map_or_else(|| name.to_owned(), |parent| format!("{}: {name}", self.lines[parent].name))
    }
}

struct TraceSink<'a>(&'a mut Trace);

impl Sink for TraceSink<'_> {
    fn begin(&mut self, about: &About) -> io::Result<()> {
        self.0.about = about.clone();
        Ok(())
    }

    fn track(&mut self, track: Track, shown: &Shown<'_>) -> io::Result<()> {
        assert_eq!(track.0, self.0.lines.len() + 1);
        let name = self.0.below(shown.parent.map(|parent| parent.0 - 1), shown.name);
        self.0.lines.push(Line { name, ..Line::default() });
        Ok(())
    }

    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()> {
        let value = |value: &Value<'_>| match value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => (*text).to_owned(),
        };
        let details = interval.details.iter().map(|(key, found)| ((*key).to_owned(), value(found)));
        let [start, end] = [interval.start, interval.end].map(|cycle| self.0.about.nanoseconds(cycle));
        let mut drawn = Drawn {
            name: interval.name.to_owned(),
            start,
            end,
            details: details.collect(),
            ..Drawn::default()
        };
        // Nothing was cut off.
        assert_eq!(drawn.number("cycles"), Some(interval.end - interval.start), "{interval:?}");
        for flow in interval.flows {
            match flow {
                Flow::From(id) => drawn.from.push(*id),
                Flow::To(id) => drawn.to.push(*id),
            }
        }
        self.0.lines[track.0 - 1].slices.push(drawn);
        Ok(())
    }

    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()> {
        let at = self.0.about.nanoseconds(at);
        self.0.lines[track.0 - 1].values.push((at, value));
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decodes packets as Perfetto does.
fn decode(bytes: &[u8]) -> Trace {
    let mut packets = Vec::new();
    for packet in proto::Trace::decode(bytes).unwrap().packet {
        let mut inflated = Vec::new();
        let compressed = packet.compressed_packets.unwrap();
        flate2::read::ZlibDecoder::new(&compressed[..]).read_to_end(&mut inflated).unwrap();
        packets.extend(proto::Trace::decode(&inflated[..]).unwrap().packet);
    }
    let mut decoder = Decoder::default();
    packets.iter().for_each(|packet| decoder.packet(packet));
    assert!(decoder.sequences.values().all(|sequence| sequence.open.is_none()), "slices that do not end");
    decoder.trace
}

#[derive(Default)]
struct Decoder {
    trace: Trace,
    /// Indices of tracks, by their number.
    places: BTreeMap<u64, usize>,
    sequences: BTreeMap<u32, Sequence>,
}

/// State of a packet sequence.
#[derive(Default)]
struct Sequence {
    track: u64,
    time: u64,
    names: BTreeMap<u64, String>,
    keys: BTreeMap<u64, String>,
    texts: BTreeMap<u64, String>,
    open: Option<Drawn>,
}

impl Decoder {
    fn packet(&mut self, packet: &TracePacket) {
        let number = packet.trusted_packet_sequence_id.unwrap();
        if packet.sequence_flags == Some(proto::STATE_CLEARED) {
            let defaults = packet.trace_packet_defaults.as_ref().unwrap();
            let track = defaults.track_event_defaults.as_ref().unwrap().track_uuid.unwrap();
            let clocks = &packet.clock_snapshot.as_ref().unwrap().clocks;
            let clock = clocks.iter().find(|clock| clock.clock_id == defaults.timestamp_clock_id).unwrap();
            assert_eq!((clock.timestamp, clock.is_incremental), (Some(0), Some(true)));
            let old = self.sequences.insert(number, Sequence { track, ..Sequence::default() });
            assert!(old.is_none(), "a sequence begins once");
        }
        if let Some(track) = &packet.track_descriptor {
            self.track(track);
        }
        let Some(event) = &packet.track_event else { return };
        assert_eq!(packet.sequence_flags, Some(proto::NEEDS_STATE));
        let sequence = self.sequences.get_mut(&number).unwrap();
        if let Some(new) = &packet.interned_data {
            let into = |names: &[proto::Name], map: &mut BTreeMap<u64, String>| {
                for name in names {
                    assert!(map.insert(name.iid.unwrap(), name.name.clone().unwrap()).is_none());
                }
            };
            into(&new.event_names, &mut sequence.names);
            into(&new.debug_annotation_names, &mut sequence.keys);
            into(&new.debug_annotation_string_values, &mut sequence.texts);
        }
        sequence.time += packet.timestamp.unwrap();
        let line = &mut self.trace.lines[self.places[&sequence.track]];
        sequence.event(event, line);
    }

    fn track(&mut self, track: &proto::TrackDescriptor) {
        let Some(parent) = track.parent_uuid else {
            let process = track.process.as_ref().unwrap();
            self.trace.about.program = process.process_name.clone().unwrap();
            return;
        };
        let name = self.trace.below(self.places.get(&parent).copied(), track.name.as_ref().unwrap());
        self.places.insert(track.uuid.unwrap(), self.trace.lines.len());
        self.trace.lines.push(Line { name, ..Line::default() });
    }
}

impl Sequence {
    fn event(&mut self, event: &proto::TrackEvent, line: &mut Line) {
        match event.r#type.unwrap() {
            proto::BEGIN => {
                let name = event.name.clone().unwrap_or_else(|| self.names[&event.name_iid.unwrap()].clone());
                let details = event.debug_annotations.iter().map(|detail| self.detail(detail)).collect();
                let (from, to) = (event.flow_ids.clone(), event.terminating_flow_ids.clone());
                let drawn = Drawn { name, start: self.time, end: 0, details, from, to };
                assert!(self.open.replace(drawn).is_none(), "slices of a track overlap");
            }
            proto::END => line.slices.push(Drawn { end: self.time, ..self.open.take().unwrap() }),
            proto::COUNTER => line.values.push((self.time, event.double_counter_value.unwrap())),
            other => panic!("an event of type {other}"),
        }
    }

    fn detail(&self, detail: &proto::DebugAnnotation) -> (String, String) {
        let key = detail.name.clone().unwrap_or_else(|| self.keys[&detail.name_iid.unwrap()].clone());
        let text = |iid: u64| self.texts[&iid].clone();
        let number = detail.uint_value.map(|number| number.to_string());
        let value =
            number.or_else(|| detail.string_value.clone()).or_else(|| detail.string_value_iid.map(text));
        (key, value.unwrap())
    }
}

/// Decodes JSON as viewers do.
fn read(bytes: &[u8]) -> Trace {
    let file: Json = serde_json::from_slice(bytes).unwrap();
    let mut trace = Trace::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut threads: BTreeMap<u64, String> = BTreeMap::new();
    let mut at = |trace: &mut Trace, name: &str| {
        *places.entry(name.to_owned()).or_insert_with(|| {
            trace.lines.push(Line { name: name.to_owned(), ..Line::default() });
            trace.lines.len() - 1
        })
    };
    let nanoseconds = |value: &Json| (value.as_f64().unwrap() * 1000.0).round() as u64;
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for event in file["traceEvents"].as_array().unwrap() {
        let name = text(&event["name"]);
        let thread = event["tid"].as_u64().and_then(|tid| threads.get(&tid).cloned());
        match event["ph"].as_str().unwrap() {
            "M" if name == "process_name" => trace.about.program = text(&event["args"]["name"]),
            "M" if name == "thread_name" => {
                let thread = text(&event["args"]["name"]);
                at(&mut trace, &thread);
                threads.insert(event["tid"].as_u64().unwrap(), thread);
            }
            "M" => assert_eq!(name, "thread_sort_index"),
            "X" => {
                let place = at(&mut trace, &thread.unwrap());
                let start = nanoseconds(&event["ts"]);
                let details = event["args"].as_object().unwrap().iter();
                let details = details.map(|(key, value)| (key.clone(), text(value))).collect();
                let end = start + nanoseconds(&event["dur"]);
                trace.lines[place].slices.push(Drawn { name, start, end, details, ..Drawn::default() });
            }
            "C" => {
                let place = at(&mut trace, &name);
                let value = event["args"].as_object().unwrap().values().next().unwrap().as_f64().unwrap();
                trace.lines[place].values.push((nanoseconds(&event["ts"]), value));
            }
            phase => {
                let place = at(&mut trace, &thread.unwrap());
                let slice = trace.lines[place].slices.last_mut().unwrap();
                assert_eq!(slice.start, nanoseconds(&event["ts"]));
                let id = event["id"].as_u64().unwrap();
                match phase {
                    "s" => slice.from.push(id),
                    "f" => slice.to.push(id),
                    other => panic!("an event `{other}`"),
                }
            }
        }
    }
    trace
}

fn recorded(program: &dyn Compiled, time: &TimeReport) -> Trace {
    let mut trace = Trace::default();
    let report = program.report();
    let layers = [report.layers.clone(), vec![OUTSIDE.to_owned()]].concat();
    let layers = if report.layers.is_empty() { Vec::new() } else { layers };
    let cycles = time.cycles.values().copied().max().unwrap();
    let about = About { program: report.name, clock_mhz: time.clock_mhz, cycles, layers };
    let mut recorder = Recorder::new(TraceSink(&mut trace), about, None);
    let cycles = program.record(&TimeOptions::default(), &mut recorder).unwrap();
    assert_eq!(cycles, time.cycles[&time.clock], "the whole");
    recorder.finish(cycles).unwrap();
    trace
}

/// Returns the tracks by name, without counters that were never shown.
fn by_name(trace: &Trace) -> BTreeMap<&str, &Line> {
    let lines = trace.lines.iter().filter(|line| !line.slices.is_empty() || !line.values.is_empty());
    lines.map(|line| (line.name.as_str(), line)).collect()
}

/// Checks that both files contain what was recorded.
fn check_files(program: &dyn Compiled, time: &TimeReport, trace: &Trace) {
    let options = TimeOptions::default();
    let write = |format| {
        let mut bytes = Vec::new();
        let report = write_trace(program, &options, time, format, None, &mut bytes).unwrap();
        assert_eq!(report.tracks, trace.lines.len());
        let slices: usize = trace.lines.iter().map(|line| line.slices.len()).sum();
        assert_eq!(report.slices + report.waits, slices as u64);
        bytes
    };
    let (json, packets) = (write(TraceFormat::Chrome), write(TraceFormat::Perfetto));
    // Data that is written once has more weight in a small trace.
    let smaller = if json.len() > 200_000 { 12 } else { 4 };
    assert!(
        smaller * packets.len() < json.len(),
        "{} bytes instead of {} of JSON",
        packets.len(),
        json.len()
    );
    for found in [read(&json), decode(&packets)] {
        assert_eq!(found.about.program, trace.about.program);
        assert_eq!(by_name(&found), by_name(trace));
    }
}

/// Checks that slices of a track are in order and do not overlap, and that flows begin before they
/// end.
fn check_order(trace: &Trace) -> usize {
    let (mut from, mut to) = (BTreeMap::new(), BTreeMap::new());
    for Line { name, slices, values } in &trace.lines {
        assert!(slices.iter().all(|slice| slice.start <= slice.end), "{name}");
        assert!(slices.windows(2).all(|pair| pair[0].end <= pair[1].start), "{name}");
        assert!(values.windows(2).all(|pair| pair[0].0 < pair[1].0), "{name}: {values:?}");
        for slice in slices {
            from.extend(slice.from.iter().map(|id| (*id, slice.start)));
            to.extend(slice.to.iter().map(|id| (*id, slice.start)));
        }
    }
    assert!(from.keys().eq(to.keys()), "flows with one end");
    assert!(from.iter().all(|(id, start)| *start < to[id]), "flows that go back in time");
    from.len()
}

/// Integrates a counter over cycles: each value holds until the next one, and the last one is 0.
fn integral(trace: &Trace, line: &Line) -> f64 {
    let cycle = |nanoseconds: u64| nanoseconds as f64 * trace.about.clock().map_or(1.0, |mhz| mhz / 1e3);
    assert_eq!(line.values.last().map(|(_, value)| *value), Some(0.0), "{}", line.name);
    line.values.windows(2).map(|pair| pair[0].1 * (cycle(pair[1].0) - cycle(pair[0].0))).sum()
}

/// Checks that work and waits of units equal the report, and that counters equal the sums of
/// slices.
fn check_sums(trace: &Trace, time: &TimeReport) {
    let program = &trace.line("program").slices;
    let total = time.cycles[&time.clock];
    assert_eq!((program.len(), program[0].number("cycles")), (1, Some(total)));
    let mut units = 0;
    for unit in &time.units {
        let Some(line) = trace.lines.iter().find(|line| line.name == unit.unit) else { continue };
        units += 1;
        let busy = |slice: &Drawn| slice.number("busy").or(slice.number("cycles")).unwrap();
        assert_eq!(line.slices.iter().map(busy).sum::<u64>(), unit.busy, "{}", unit.unit);
        let mut waits: BTreeMap<&str, u64> = BTreeMap::new();
        let below = format!("{}: waits for", unit.unit);
        for wait in trace.lines.iter().filter(|line| line.name == below).flat_map(|line| &line.slices) {
            *waits.entry(&wait.name).or_default() += wait.number("waited").or(wait.number("cycles")).unwrap();
        }
        let reported: BTreeMap<&str, u64> =
            unit.waits.iter().map(|wait| (wait.on.as_str(), wait.cycles)).collect();
        assert_eq!(waits, reported, "{}", unit.unit);
        let close = |counter: &str, sum: u64| {
            let name = format!("{}: {counter}", unit.unit);
            let Some(counter) = trace.lines.iter().find(|line| line.name == name) else { return };
            // Times are whole nanoseconds.
            let (found, sum) = (integral(trace, counter), sum as f64);
            assert!((found - sum).abs() <= 0.02 * sum, "{name}: {found} and {sum}");
        };
        close("utilization", 100 * unit.busy);
        close("bytes a cycle", line.slices.iter().filter_map(|slice| slice.number("bytes")).sum());
    }
    assert!(units > 0 || time.units.is_empty(), "no unit of the report has a track");
}

fn mlp(target: &str) -> (Memory, Source) {
    let mut files = Memory::with_digits();
    files.0.insert("mlp.onnx".into(), include_bytes!("../../assets/digits_mlp.onnx").to_vec());
    (files, Source { path: "mlp.onnx".into(), ..digits(target) })
}

#[test]
fn traces_of_all_targets_are_what_was_recorded_and_add_up() {
    for (target, flows) in [
        ("tcu", true),
        ("tcu:ultra96v2", true),
        ("opu", true),
        ("opu:detailed", true),
        ("pccx", true),
        ("drra:3x4+ext", false),
    ] {
        let (files, mlp) = mlp(target);
        let source =
            if target.starts_with("tcu") || target.starts_with("opu") { digits(target) } else { mlp };
        let program = source.program(files.context()).unwrap();
        let (program, time) = (program.compiled(), program.time().unwrap());
        let trace = recorded(program, &time);
        assert_eq!(check_order(&trace) > 0, flows, "{target}");
        check_sums(&trace, &time);
        check_files(program, &time, &trace);
        let layers: Vec<_> = trace.line("layers").slices.iter().map(|slice| slice.name.clone()).collect();
        assert!(program.report().layers.iter().any(|layer| layers.contains(layer)), "{target}: {layers:?}");
    }
}

fn traced(target: &str, range: &str, extension: &str) -> (Result<Report, Error>, Vec<u8>) {
    let files = Memory::with_digits();
    let mut bytes = Vec::new();
    let request = Request {
        source: digits(target),
        trace_extension: Some(extension.to_owned()),
        trace_range: Some(range.to_owned()),
        ..Request::default()
    };
    let sinks = Sinks { trace: Some(&mut bytes), ..Sinks::default() };
    let report = time_with(&request, sinks, files.context());
    (report, bytes)
}

#[test]
fn a_range_of_layers_is_traced_alone() {
    for (target, flows) in [("tcu", false), ("opu", true)] {
        check_range(target, flows);
    }
}

fn check_range(target: &str, flows: bool) {
    let (report, bytes) = traced(target, "/conv2..", "pftrace");
    let report = report.unwrap().trace.unwrap();
    let names: Vec<String> = ["/conv2+/relu2", "/logits"].map(str::to_owned).into();
    assert_eq!(report.layers, Some(names.clone()));
    let trace = decode(&bytes);
    let shown: Vec<_> = trace.line("layers").slices.iter().map(|slice| slice.name.clone()).collect();
    assert_eq!(shown, names);
    let units = trace.lines.iter().filter(|line| line.name != "layers").flat_map(|line| &line.slices);
    let mut counted = 0;
    for slice in units {
        counted += 1;
        assert!(names.contains(&slice.details["layer"]), "{slice:?}");
    }
    assert_eq!(counted + shown.len() as u64, report.slices + report.waits, "{report:?}");
    assert_eq!(check_order(&trace) > 0, flows, "{target}");
}

#[test]
fn layers_that_do_not_exist_are_refused() {
    let message = |range: &str, extension: &str| traced("tcu", range, extension).0.unwrap_err();
    let error = message("/conv3", "json");
    assert!(error.is_usage() && error.to_string().contains("unknown layer `/conv3`"), "{error}");
    assert!(message("/logits../conv1", "json").to_string().contains("comes before"));
    let (files, mlp) = mlp("pccx");
    let request = Request {
        source: mlp,
        trace_extension: Some("pccx".to_owned()),
        trace_range: Some("*".to_owned()),
        ..Request::default()
    };
    let mut bytes = Vec::new();
    let sinks = Sinks { trace: Some(&mut bytes), ..Sinks::default() };
    let error = time_with(&request, sinks, files.context()).unwrap_err();
    assert!(error.to_string().contains("cannot be limited to layers") && bytes.is_empty(), "{error}");
}

/// For every target, each cell of a memory map is drawn once and belongs to an existing layer, and
/// something is written and read.
#[test]
fn memories_over_time_are_of_every_target() {
    let files = Memory::with_digits();
    for target in ["tcu:pynqz1", "opu", "pccx", "drra:3x4+ext"] {
        let program = Source::model("digits.onnx", target).program(files.context()).unwrap();
        let compiled = program.compiled();
        let time = compiled.time(&TimeOptions::default()).unwrap();
        let maps = compiled.memory_maps(&time);
        assert!(!maps.is_empty(), "{target}");
        for map in &maps {
            let runs: Vec<(i64, i64)> = map.cells.chunks(2).map(|run| (run[0], run[1])).collect();
            let cells: i64 = runs.iter().map(|(_, count)| count).sum();
            assert_eq!(cells as usize, map.rows * map.columns, "{target}, {}", map.name);
            assert!(
                map.used <= map.places && map.rows <= 128 && map.columns <= 512,
                "{target}, {}",
                map.name
            );
            let layers = time.layers.len() as i64;
            assert!(runs.iter().all(|(value, _)| (-1..=layers).contains(value)), "{target}, {}", map.name);
        }
        let written = maps.iter().flat_map(|map| map.cells.chunks(2)).filter(|run| run[0] > 0);
        assert!(written.count() > 1, "{target}");
    }
}
