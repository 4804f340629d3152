//! [`Overlap`]: work that a unit does in parallel and the released one in sequence.

/// Limits of the released unit that an instance does not have. The default has all limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Overlap {
    /// Depth of the queue in front of local memory on the array's side, in runs; it lets the
    /// decoder continue. The other sides then have [`Overlap::SHARED_DEPTH`] entries each. Without
    /// queues (0) the decoder holds an instruction until its last access.
    pub local_queue_depth: usize,
    /// Whether transfers of both DRAM banks run in parallel; needs queues.
    pub overlapped_dram: bool,
    /// Whether weights are loaded while others are in use; needs queues.
    pub double_weights: bool,
    /// Whether the accumulators accept a command per cycle, including SIMD instructions, and rows
    /// enter the array before they are requested.
    pub pipelined_simd: bool,
    /// Number of outstanding bursts per bank and direction. With 0 it is the released unit's two,
    /// which allow three bursts in flight.
    pub outstanding_bursts: usize,
}

impl Overlap {
    /// A unit without any of the limits.
    pub const ALL: Self = Self {
        local_queue_depth: 8,
        overlapped_dram: true,
        double_weights: true,
        pipelined_simd: true,
        outstanding_bursts: 8,
    };

    /// Suffixes of instance names with their meaning: one for all features, and one for each
    /// feature together with the features that it needs.
    pub const SUFFIXES: [(&'static str, Self); 6] = [
        ("+overlap", Self::ALL),
        ("+queues", Self { local_queue_depth: Self::ALL.local_queue_depth, ..Self::RELEASED }),
        (
            "+drams",
            Self { local_queue_depth: Self::ALL.local_queue_depth, overlapped_dram: true, ..Self::RELEASED },
        ),
        (
            "+weights",
            Self { local_queue_depth: Self::ALL.local_queue_depth, double_weights: true, ..Self::RELEASED },
        ),
        ("+simd", Self { pipelined_simd: true, ..Self::RELEASED }),
        ("+bursts", Self { outstanding_bursts: Self::ALL.outstanding_bursts, ..Self::RELEASED }),
    ];

    /// The released unit, with all limits.
    pub const RELEASED: Self = Self {
        local_queue_depth: 0,
        overlapped_dram: false,
        double_weights: false,
        pipelined_simd: false,
        outstanding_bursts: 0,
    };

    /// Depth of the queues on the sides of local memory other than the array's, if there are
    /// queues.
    pub const SHARED_DEPTH: usize = 2;

    /// Returns the depth of each of these queues.
    pub const fn shared_depth(self) -> usize {
        if self.has_queues() { Self::SHARED_DEPTH } else { 0 }
    }

    /// Returns whether the decoder continues past an instruction that uses local memory.
    pub const fn has_queues(self) -> bool {
        self.local_queue_depth > 0
    }

    /// Returns a parameter that needs queues in front of local memory, if it is set without them.
    pub const fn without_queues(self) -> Option<&'static str> {
        match self {
            _ if self.has_queues() => None,
            Self { overlapped_dram: true, .. } => Some("overlapped_dram"),
            Self { double_weights: true, .. } => Some("double_weights"),
            _ => None,
        }
    }
}
