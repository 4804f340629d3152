//! [`Component`]: the kinds of hardware blocks a cell is made of. Each has an instruction set of its own.

/// A kind of block. All but the sequencer sit in the slots of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// Fetches instructions, executes those of control, forwards the others to slots.
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
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Sequencer, Self::Dpu, Self::Swb, Self::Rf, Self::IosramTop, Self::IosramBtm, Self::IosramBoth];

    /// The name in architecture files and in the instruction table.
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

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|component| component.name() == name)
    }

    /// Consecutive slots it takes; a sequencer takes none.
    pub const fn slots(self) -> u8 {
        match self {
            Self::Sequencer => 0,
            Self::Swb | Self::Rf => 1,
            Self::Dpu => 2,
            Self::IosramTop | Self::IosramBtm | Self::IosramBoth => 4,
        }
    }

    /// Whether it is one of the memories with a port outside.
    pub const fn is_iosram(self) -> bool {
        matches!(self, Self::IosramTop | Self::IosramBtm | Self::IosramBoth)
    }

    /// Whether its ports have lanes and levels around them. Such a port erases its configuration a cycle longer.
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
