//! [`Component`]: kinds of hardware blocks in a cell. Each kind has its own instruction set.

/// Kind of hardware block. All except the sequencer are in the slots of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// Fetches instructions, executes control instructions, and forwards the others to slots.
    Sequencer,
    /// Data processing unit: arithmetic on words.
    Dpu,
    /// Switch box: the crossbar for words and the routes for bulk rows.
    Swb,
    /// Register file.
    Rf,
    /// Memory with a port to the input buffer.
    IosramTop,
    /// Memory with a port to the output buffer.
    IosramBtm,
    /// Memory with ports to both buffers.
    IosramBoth,
}

impl Component {
    /// All kinds, in code order.
    pub const ALL: [Self; 7] =
        [Self::Sequencer, Self::Dpu, Self::Swb, Self::Rf, Self::IosramTop, Self::IosramBtm, Self::IosramBoth];

    /// Name in architecture files and in the instruction table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequencer => "sequencer",
            Self::Dpu => "dpu",
            Self::Swb => "swb",
            Self::Rf => "rf",
            Self::IosramTop => "iosram_top",
            Self::IosramBtm => "iosram_btm",
            Self::IosramBoth => "iosram_both",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|component| component.name() == name)
    }

    /// Number of consecutive slots it occupies; 0 for a sequencer.
    pub const fn slots(self) -> u8 {
        match self {
            Self::Sequencer => 0,
            Self::Swb | Self::Rf => 1,
            Self::Dpu => 2,
            Self::IosramTop | Self::IosramBtm | Self::IosramBoth => 4,
        }
    }

    /// Whether it is a memory with a port to a buffer.
    pub const fn is_iosram(self) -> bool {
        matches!(self, Self::IosramTop | Self::IosramBtm | Self::IosramBoth)
    }

    /// Whether its ports have lanes, with levels around them. Such a port needs one more cycle to
    /// erase its configuration.
    pub const fn has_lanes(self) -> bool {
        !matches!(self, Self::Sequencer | Self::IosramBtm | Self::IosramBoth)
    }

    /// Whether it reads the input buffer.
    pub const fn has_input(self) -> bool {
        matches!(self, Self::IosramTop | Self::IosramBoth)
    }

    /// Whether it writes the output buffer.
    pub const fn has_output(self) -> bool {
        matches!(self, Self::IosramBtm | Self::IosramBoth)
    }
}
