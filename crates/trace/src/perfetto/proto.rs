//! The protobuf messages of a Perfetto trace, declared by hand for the fields we write.
//!
//! The root is [`Trace`]. Source: `protos/perfetto/trace` of the Perfetto project.

/// A trace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// In any order but that of a sequence.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// An event, or what is needed to understand events.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// When, on the clock that the defaults name.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Of whoever wrote it: names and defaults are a sequence's own.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Clocks side by side.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that events use by number from here on.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`STATE_CLEARED`], [`NEEDS_STATE`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A [`Trace`], deflated with zlib's header.
    #[prost(bytes = "vec", optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    /// What packets of the sequence have in common.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// The sequence begins: what was known of it does not count any more.
pub const STATE_CLEARED: u32 = 1;
/// The packet can only be understood with those before it.
pub const NEEDS_STATE: u32 = 2;

/// Clocks side by side.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClockSnapshot {
    /// The clocks.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

/// What a clock says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Clock {
    /// Which one; 64 to 127 are a sequence's own.
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
    /// Times are given as differences to the packet before.
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
}

/// What packets of a sequence have in common.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacketDefaults {
    /// The clock of their times.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    /// What events have in common.
    #[prost(message, optional, tag = "11")]
    pub track_event_defaults: Option<TrackEventDefaults>,
}

/// What events have in common.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEventDefaults {
    /// Their track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
}

/// A track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The process it is, if it is one.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// The track it stands below.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// The counter it is, if it is one.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// How those below it are ordered: [`BY_RANK`].
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among those beside it.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// Tracks stand in the order of their ranks.
pub const BY_RANK: i32 = 3;

/// A process.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessDescriptor {
    /// Its number.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A counter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterDescriptor {
    /// The unit of its values.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// An event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// [`BEGIN`], [`END`] or [`COUNTER`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its name, by number.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Its name, as it is.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// What the viewer shows of it.
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
/// The slice that began last on its track ends.
pub const END: i32 = 2;
/// A value of a counter.
pub const COUNTER: i32 = 4;

/// A detail of an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// Its name, by number.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Its name, as it is.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// A number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// A text, as it is.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    /// A text, by number.
    #[prost(uint64, optional, tag = "17")]
    pub string_value_iid: Option<u64>,
}

/// Names that are used by number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedData {
    /// Of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<Name>,
    /// Of details.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<Name>,
    /// Texts of details.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<Name>,
}

/// A text and its number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Name {
    /// The number.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The text.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
