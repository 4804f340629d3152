//! [`Format`]: bit positions of the fields in a component's words, in an encoding.

use npukit_base::BitRange;

use crate::config::component::Component;
use crate::config::encoding::Encoding;

/// Bit that distinguishes instructions of one opcode in the later encoding.
const VARIANT: BitRange = BitRange::new(23, 1);
/// Bit above the operands of control instructions.
pub(super) const CONTROL: u32 = 28;
/// Bit above the operands of resource instructions.
pub(super) const RESOURCE: u32 = 24;

const DPU_PORTS: &[(u64, &str)] = &[(0, "dpu"), (1, "rst")];
const SWB_PORTS: &[(u64, &str)] = &[(0, "intracell"), (1, "intercell")];
const RF_PORTS: &[(u64, &str)] = &[(0, "word_write"), (1, "word_read"), (2, "bulk_write"), (3, "bulk_read")];
const IOSRAM_PORTS: &[(u64, &str)] =
    &[(0, "input_buffer"), (1, "output_buffer"), (2, "sram_write"), (3, "sram_read")];

/// Word layout of a component in an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Component that executes the words.
    pub component: Component,
    /// Encoding of the words.
    pub encoding: Encoding,
}

/// Returns adjacent fields from bit `top` downwards.
pub(super) const fn below<const N: usize>(mut top: u32, widths: [u32; N]) -> [BitRange; N] {
    let (mut fields, mut index) = ([BitRange::new(0, 0); N], 0);
    while index < N {
        top -= widths[index];
        fields[index] = BitRange::new(top, widths[index]);
        index += 1;
    }
    fields
}

impl Format {
    /// Word layout of a component in the released encoding.
    pub const fn released(component: Component) -> Self {
        Self { component, encoding: Encoding::Released }
    }

    const fn is_later(self) -> bool {
        matches!(self.encoding, Encoding::Later)
    }

    /// Whether lanes of the component open at an address (`dsu`) rather than at 0 (`evt`).
    pub(super) const fn has_addresses(self) -> bool {
        matches!(self.component, Component::Rf) || self.component.is_iosram()
    }

    /// Returns the opcode in this encoding.
    pub(super) const fn code(self, released: u64, later: u64) -> u64 {
        if self.is_later() { later } else { released }
    }

    /// Returns the opcode in this encoding; released components number theirs starting at `rep`.
    pub(super) const fn timing(self, released: u64, later: u64) -> u64 {
        self.code(if self.has_addresses() { released } else { released + 1 }, later)
    }

    /// Bits of the variant: none in the released encoding, which has an opcode for each
    /// instruction.
    pub(super) const fn variant(self) -> BitRange {
        if self.is_later() { VARIANT } else { BitRange::new(VARIANT.lo, 0) }
    }

    /// Variant of the second of two instructions.
    pub(super) const fn second(self) -> u64 {
        self.code(0, 1)
    }

    /// Returns the operand fields of an instruction with a variant.
    const fn operands<const N: usize>(self, widths: [u32; N]) -> [BitRange; N] {
        below(RESOURCE - self.variant().width, widths)
    }

    /// Fields `option`, `channel`, `source` and `target` of `swb`.
    pub(super) const fn swb(self) -> [BitRange; 4] {
        self.operands([2, 4, 4, 4])
    }

    /// Fields `option`, `sr`, `source` and `target` of `route`.
    pub(super) const fn route(self) -> [BitRange; 4] {
        self.operands([2, 1, 4, 16])
    }

    const fn port_bits(self) -> u32 {
        if self.has_addresses() { 2 } else { 1 }
    }

    /// Field `port` of `evt` and `trans`.
    pub(super) const fn port(self) -> BitRange {
        below(RESOURCE, [self.port_bits()])[0]
    }

    /// Field `delay` of `trans`.
    pub(super) const fn transition(self) -> BitRange {
        BitRange::new(0, RESOURCE - self.port_bits())
    }

    /// Fields `port`, `iter`, `step` and `delay` of `rep` and `repx`.
    pub(super) const fn rep(self) -> [BitRange; 4] {
        let (iter, step, delay) = match (self.encoding, self.component) {
            (Encoding::Released, _) if self.has_addresses() => (8, 7, 7),
            (Encoding::Released, _) => (8, 7, 8),
            (Encoding::Later, Component::Swb) => (7, 6, 8),
            (Encoding::Later, _) => (7, 7, 7),
        };
        self.operands([self.port_bits(), iter, step, delay])
    }

    /// Names of the component's ports.
    pub(super) const fn ports(self) -> &'static [(u64, &'static str)] {
        match self.component {
            Component::Sequencer => &[],
            Component::Dpu => DPU_PORTS,
            Component::Swb => SWB_PORTS,
            Component::Rf => RF_PORTS,
            Component::IosramTop | Component::IosramBtm | Component::IosramBoth => IOSRAM_PORTS,
        }
    }
}
