//! [`Perfetto`]: writes a trace as Perfetto's protobuf, which is compact for three reasons.
//!
//! Each track is its own packet sequence, so that it is named once and times are differences. Names
//! and texts are interned. Packets are compressed in blocks.

mod interned;
pub mod proto;

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use prost::Message;

use crate::model::{About, Flow, Interval, Shown, Sink, Track, Value};
use interned::Interned;
use proto::{
    BEGIN, BY_RANK, COUNTER, Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, END, InternedData,
    NEEDS_STATE, ProcessDescriptor, STATE_CLEARED, TracePacket, TracePacketDefaults, TrackDescriptor,
    TrackEvent, TrackEventDefaults,
};

/// Extensions of such files, without the dot.
pub const EXTENSIONS: [&str; 2] = ["pftrace", "perfetto-trace"];

/// Number of packet bytes that are compressed together.
const BLOCK: usize = 1 << 18;
/// Track of the process; the model's tracks follow.
const PROCESS: u64 = 1;
/// Perfetto's clock of the whole trace.
const BOOT: u32 = 6;
/// Clock of a sequence, with times as differences.
const DELTA: u32 = 64;
/// Field of packets in a [`proto::Trace`].
const PACKET: u32 = 1;

/// Writer of a trace as protobuf.
#[derive(Debug)]
pub struct Perfetto<W> {
    out: W,
    about: About,
    /// Packets that are not yet compressed.
    packets: Vec<u8>,
    /// State of each track's sequence.
    sequences: Vec<Sequence>,
}

/// State of a packet sequence.
#[derive(Debug, Default)]
struct Sequence {
    /// Time of the previous packet, in nanoseconds.
    time: u64,
    names: Interned,
    keys: Interned,
    texts: Interned,
}

impl<W: Write> Perfetto<W> {
    /// Creates a writer to `out`.
    pub fn new(out: W) -> Self {
        Self { out, about: About::default(), packets: Vec::new(), sequences: Vec::new() }
    }

    fn packet(&mut self, packet: &TracePacket) -> io::Result<()> {
        prost::encoding::message::encode(PACKET, packet, &mut self.packets);
        if self.packets.len() >= BLOCK { self.deflate() } else { Ok(()) }
    }

    /// Compresses and writes the collected packets.
    fn deflate(&mut self) -> io::Result<()> {
        if self.packets.is_empty() {
            return Ok(());
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&self.packets)?;
        self.packets.clear();
        let packet = TracePacket { compressed_packets: Some(encoder.finish()?), ..TracePacket::default() };
        let mut bytes = Vec::with_capacity(packet.encoded_len() + 16);
        prost::encoding::message::encode(PACKET, &packet, &mut bytes);
        self.out.write_all(&bytes)
    }

    /// Writes an event of a track, with the packets that it depends on.
    fn event(
        &mut self,
        track: Track,
        cycle: u64,
        event: TrackEvent,
        interned_data: Option<InternedData>,
    ) -> io::Result<()> {
        let now = self.about.nanoseconds(cycle);
        let Some(sequence) = self.sequences.get_mut(track.0.wrapping_sub(1)) else { return Ok(()) };
        let timestamp = now.saturating_sub(sequence.time);
        sequence.time = now.max(sequence.time);
        self.packet(&TracePacket {
            timestamp: Some(timestamp),
            trusted_packet_sequence_id: Some(number(track)),
            track_event: Some(event),
            interned_data,
            sequence_flags: Some(NEEDS_STATE),
            ..TracePacket::default()
        })
    }
}

/// Sequence number of a track. There are fewer than 2^32 tracks, as each has a name in memory.
fn number(track: Track) -> u32 {
    track.0 as u32 + 1
}

fn uuid(track: Track) -> u64 {
    PROCESS + track.0 as u64
}

/// Returns the first packet of a sequence: its clock, and defaults of its events.
fn opening(track: Track) -> TracePacket {
    let boot = Clock { clock_id: Some(BOOT), timestamp: Some(0), is_incremental: None };
    let delta = Clock { clock_id: Some(DELTA), timestamp: Some(0), is_incremental: Some(true) };
    let track_event_defaults = Some(TrackEventDefaults { track_uuid: Some(uuid(track)) });
    TracePacket {
        trusted_packet_sequence_id: Some(number(track)),
        sequence_flags: Some(STATE_CLEARED),
        clock_snapshot: Some(ClockSnapshot { clocks: vec![boot, delta] }),
        trace_packet_defaults: Some(TracePacketDefaults {
            timestamp_clock_id: Some(DELTA),
            track_event_defaults,
        }),
        ..TracePacket::default()
    }
}

impl Sequence {
    /// Returns the event at the begin of a slice, with new interned texts.
    fn begin(&mut self, interval: &Interval<'_>) -> (TrackEvent, Option<InternedData>) {
        let mut new = InternedData::default();
        let (name_iid, name) = self.names.number(interval.name, &mut new.event_names);
        let details = interval.details.iter().map(|(key, value)| self.detail(key, *value, &mut new));
        let event =
            TrackEvent {
                r#type: Some(BEGIN),
                name_iid,
                name,
                debug_annotations: details.collect(),
                flow_ids: ids(interval.flows, |flow| if let Flow::From(id) = flow { Some(id) } else { None }),
                terminating_flow_ids: ids(interval.flows, |flow| {
                    if let Flow::To(id) = flow { Some(id) } else { None }
                }),
                ..TrackEvent::default()
            };
        let is_new = new != InternedData::default();
        (event, is_new.then_some(new))
    }

    fn detail(&mut self, key: &str, value: Value<'_>, new: &mut InternedData) -> DebugAnnotation {
        let (name_iid, name) = self.keys.number(key, &mut new.debug_annotation_names);
        let detail = DebugAnnotation { name_iid, name, ..DebugAnnotation::default() };
        match value {
            Value::Number(number) => DebugAnnotation { uint_value: Some(number), ..detail },
            Value::Text(text) => {
                let texts = &mut new.debug_annotation_string_values;
                let (string_value_iid, string_value) = self.texts.number(text, texts);
                DebugAnnotation { string_value_iid, string_value, ..detail }
            }
        }
    }
}

fn ids(flows: &[Flow], id: impl Fn(Flow) -> Option<u64>) -> Vec<u64> {
    flows.iter().copied().filter_map(id).collect()
}

impl<W: Write> Sink for Perfetto<W> {
    fn begin(&mut self, about: &About) -> io::Result<()> {
        self.about = about.clone();
        let process = ProcessDescriptor { pid: Some(1), process_name: Some(about.program.clone()) };
        let track_descriptor = Some(TrackDescriptor {
            uuid: Some(PROCESS),
            process: Some(process),
            child_ordering: Some(BY_RANK),
            ..TrackDescriptor::default()
        });
        self.packet(&TracePacket {
            trusted_packet_sequence_id: Some(1),
            track_descriptor,
            ..TracePacket::default()
        })
    }

    fn track(&mut self, track: Track, shown: &Shown<'_>) -> io::Result<()> {
        self.sequences.push(Sequence::default());
        let counter = shown.unit.map(|unit| CounterDescriptor { unit_name: Some(unit.to_owned()) });
        let track_descriptor = TrackDescriptor {
            uuid: Some(uuid(track)),
            name: Some(shown.name.to_owned()),
            parent_uuid: Some(shown.parent.map_or(PROCESS, uuid)),
            counter,
            child_ordering: Some(BY_RANK),
            sibling_order_rank: i32::try_from(track.0).ok(), // Default: without a rank it is last.
            ..TrackDescriptor::default()
        };
        self.packet(&opening(track))?;
        self.packet(&TracePacket {
            trusted_packet_sequence_id: Some(number(track)),
            track_descriptor: Some(track_descriptor),
            ..TracePacket::default()
        })
    }

    fn slice(&mut self, track: Track, interval: &Interval<'_>) -> io::Result<()> {
        let Some(sequence) = self.sequences.get_mut(track.0.wrapping_sub(1)) else { return Ok(()) };
        let (event, new) = sequence.begin(interval);
        self.event(track, interval.start, event, new)?;
        let end = TrackEvent { r#type: Some(END), ..TrackEvent::default() };
        self.event(track, interval.end, end, None)
    }

    fn count(&mut self, track: Track, at: u64, value: f64) -> io::Result<()> {
        let event =
            TrackEvent { r#type: Some(COUNTER), double_counter_value: Some(value), ..TrackEvent::default() };
        self.event(track, at, event, None)
    }

    fn end(&mut self) -> io::Result<()> {
        self.deflate()?;
        self.out.flush()
    }
}
