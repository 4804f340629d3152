//! Protobuf messages of a Perfetto trace, with the fields that npukit writes.
//!
//! The root is [`Trace`]. Source: `protos/perfetto/trace` of the Perfetto project.

/// Root message: a trace as a list of packets.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// Packets, in any order except within a sequence.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// Event, or data needed to read events.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// Time, on the default clock of the sequence.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Id of the writer. Interned names and defaults are per sequence.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Values of several clocks at the same time.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// Event, if the packet contains one.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that the following events use by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`STATE_CLEARED`], [`NEEDS_STATE`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A [`Trace`], compressed with zlib's header.
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    /// Defaults for packets of the sequence.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    /// Track description, if the packet contains one.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// The sequence begins, and its earlier state is discarded.
pub const STATE_CLEARED: u32 = 1;
/// The packet depends on earlier packets.
pub const NEEDS_STATE: u32 = 2;

/// Values of several clocks at the same time.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClockSnapshot {
    /// Clocks with their values.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

/// Clock with its value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Clock {
    /// Id of the clock; 64 to 127 are local to a sequence.
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// Time in nanoseconds.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
    /// Whether times are differences from the previous packet.
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
}

/// Defaults for packets of a sequence.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacketDefaults {
    /// Clock of the timestamps.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    /// Defaults for events.
    #[prost(message, optional, tag = "11")]
    pub track_event_defaults: Option<TrackEventDefaults>,
}

/// Defaults for events.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEventDefaults {
    /// Track of the events.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

/// Description of a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Number of the track.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name of the track.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Process that it represents, if any.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// Parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Counter that it represents, if any.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// Order of its child tracks: [`BY_RANK`].
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Rank among its sibling tracks.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Child tracks are ordered by rank.
pub const BY_RANK: i32 = 3;

/// Process of a trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessDescriptor {
    /// Number of the process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Name of the process.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// Counter of a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterDescriptor {
    /// Unit of its values.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// Event on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// [`BEGIN`], [`END`] or [`COUNTER`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Number of its interned name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Name, not interned.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Details shown in the viewer.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Value of a counter.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Arrows that begin here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A slice begins.
pub const BEGIN: i32 = 1;
/// The last slice on the track ends.
pub const END: i32 = 2;
/// A value of a counter.
pub const COUNTER: i32 = 4;

/// Detail of an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// Number of its interned name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Name, not interned.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// Value, if it is a number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// Value, if it is a text that is not interned.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// Number of the interned text, if the value is one.
    #[prost(uint64, optional, tag = "17")]
    pub string_value_iid: Option<u64>,
}

/// Interned texts.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedData {
    /// Names of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<Name>,
    /// Names of details.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<Name>,
    /// Texts of details.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<Name>,
}

/// Text with its number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Name {
    /// Number of the text.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
