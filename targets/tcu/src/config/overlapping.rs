//! What a unit does at the same time that the released one does one after the other: [`Overlap`].

/// Limits of the released unit that an instance is without. The default has all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Overlap {
    /// Runs of local memory that wait in front of it on the array's side, so that the decoder goes on, and
    /// [`Overlap::SHARED_DEPTH`] of them each on the other sides; 0 is none: the decoder holds an instruction until its last
    /// access.
    pub local_queue_depth: usize,
    /// Transfers of both banks of DRAM are under way together; needs queues.
    pub overlapped_dram: bool,
    /// Weights are loaded beside those at work; needs queues.
    pub double_weights: bool,
    /// The accumulators take a command a cycle, SIMD instructions too, and rows enter the array before they are asked for.
    pub pipelined_simd: bool,
    /// Bursts of a bank that are remembered in each direction; 0 is the released unit's two, which are three on their way.
    pub outstanding_bursts: usize,
}

impl Overlap {
    /// Without any of the limits.
    pub const ALL: Self = Self {
        local_queue_depth: 8,
        overlapped_dram: true,
        double_weights: true,
        pipelined_simd: true,
        outstanding_bursts: 8,
    };

    /// What the name of an instance ends in, and what it stands for: all, and each alone with what it needs.
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

    /// The released unit.
    pub const RELEASED: Self = Self {
        local_queue_depth: 0,
        overlapped_dram: false,
        double_weights: false,
        pipelined_simd: false,
        outstanding_bursts: 0,
    };

    /// Runs that wait on a side of local memory other than the array's, where there are queues.
    pub const SHARED_DEPTH: usize = 2;

    /// Runs that wait on each of these sides.
    pub const fn shared_depth(self) -> usize {
        if self.has_queues() { Self::SHARED_DEPTH } else { 0 }
    }

    /// Whether the decoder goes on past an instruction that uses local memory.
    pub const fn has_queues(self) -> bool {
        self.local_queue_depth > 0
    }

    /// A parameter that needs queues in front of local memory where there are none.
    pub const fn without_queues(self) -> Option<&'static str> {
        match self {
            _ if self.has_queues() => None,
            Self { overlapped_dram: true, .. } => Some("overlapped_dram"),
            Self { double_weights: true, .. } => Some("double_weights"),
            _ => None,
        }
    }
}
