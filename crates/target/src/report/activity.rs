//! [`Activity`]: multiply-accumulates of a program, and the bytes that each memory moves. Energy is
//! computed from them.

use serde::Serialize;

/// Type of the operands of a multiply-accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MacType {
    /// Integers or fixed point of at most 4 bits.
    Int4,
    /// Integers or fixed point of at most 8 bits.
    Int8,
    /// Integers or fixed point of at most 16 bits.
    Int16,
    /// Integers or fixed point of at most 32 bits.
    Int32,
    /// IEEE half precision.
    Fp16,
    /// Brain floating point of 16 bits.
    Bf16,
    /// IEEE single precision.
    Fp32,
}

impl MacType {
    /// Returns the lowercase name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp32 => "fp32",
        }
    }

    /// Returns the narrowest type for integers or fixed point of `bits` bits.
    pub const fn of_bits(bits: u32) -> Self {
        match bits {
            0..=4 => Self::Int4,
            5..=8 => Self::Int8,
            9..=16 => Self::Int16,
            _ => Self::Int32,
        }
    }
}

/// Class of a memory, on which the energy of a byte depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MemoryClass {
    /// Register files next to the multipliers.
    Registers,
    /// Memory on the chip.
    Sram,
    /// Memory outside the chip.
    Dram,
}

impl MemoryClass {
    /// Returns the lowercase name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::Sram => "sram",
            Self::Dram => "dram",
        }
    }
}

/// Memory whose traffic is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CountedMemory {
    /// Name of the memory.
    pub name: String,
    /// Class of the memory.
    pub class: MemoryClass,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl CountedMemory {
    /// Creates a memory with a size in bytes.
    pub fn new(name: &str, class: MemoryClass, size_bytes: u64) -> Self {
        Self { name: name.to_owned(), class, size_bytes }
    }
}

/// Counts of a program or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Multiply-accumulates that the machine executes, which include padding.
    pub macs: u64,
    /// Bytes read and written, in the order of [`Activity::memories`].
    pub bytes: Vec<u64>,
}

impl Counts {
    fn add(&mut self, macs: u64, bytes: &[u64]) {
        self.macs = self.macs.saturating_add(macs);
        for (sum, more) in self.bytes.iter_mut().zip(bytes) {
            *sum = sum.saturating_add(*more);
        }
    }
}

/// Multiply-accumulates of a program, and the bytes that each memory moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Activity {
    /// Type of the operands of a multiply-accumulate: that of the wider operand.
    pub mac_type: MacType,
    /// Memories whose traffic is counted.
    pub memories: Vec<CountedMemory>,
    /// Counts of the whole program.
    pub total: Counts,
    /// Counts by layer, in the order of [`TimeReport::layers`](crate::TimeReport::layers). They add
    /// up to the total; empty if the layers are unknown.
    pub layers: Vec<Counts>,
}

impl Activity {
    /// Creates the counts of a program with `layers` layers, all 0.
    pub fn new(mac_type: MacType, memories: Vec<CountedMemory>, layers: usize) -> Self {
        let total = Counts { macs: 0, bytes: vec![0; memories.len()] };
        // The last entry is for instructions outside all layers.
        let layers = vec![total.clone(); layers + 1];
        Self { mac_type, memories, total, layers }
    }

    /// Adds the work of an instruction. An index past the last layer means no layer; `bytes` is in
    /// the order of the memories.
    pub fn add(&mut self, layer: usize, macs: u64, bytes: &[u64]) {
        self.total.add(macs, bytes);
        let last = self.layers.len().saturating_sub(1);
        if let Some(counts) = self.layers.get_mut(layer.min(last)) {
            counts.add(macs, bytes);
        }
    }

    /// Keeps the counts of the layers that a report with `rows` layers lists.
    #[must_use]
    pub fn of_rows(mut self, rows: usize) -> Self {
        self.layers.truncate(rows);
        self
    }

    /// Returns the counts of two programs that run one after the other; `None` if they run on
    /// different machines.
    pub fn join(self, next: Self) -> Option<Self> {
        let Self { mac_type, memories, mut total, mut layers } = self;
        if (mac_type, &memories) != (next.mac_type, &next.memories) {
            return None;
        }
        total.add(next.total.macs, &next.total.bytes);
        layers.extend(next.layers);
        Some(Self { mac_type, memories, total, layers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(layers: usize) -> Activity {
        let memories = vec![CountedMemory::new("dram", MemoryClass::Dram, 1024)];
        let mut activity = Activity::new(MacType::Int8, memories, layers);
        activity.add(0, 5, &[8]);
        activity.add(7, 0, &[16]);
        activity
    }

    #[test]
    fn layers_add_up_to_the_total() {
        let activity = counted(1).of_rows(2);
        let sum = activity.layers.iter().map(|counts| counts.bytes[0]).sum::<u64>();
        assert_eq!((activity.total.macs, activity.total.bytes[0], sum), (5, 24, 24));
        assert_eq!(counted(1).of_rows(0).layers, []);
    }

    #[test]
    fn programs_on_one_machine_are_joined() {
        let both = counted(1).join(counted(2)).expect("the memories are equal");
        assert_eq!((both.total.macs, both.total.bytes[0], both.layers.len()), (10, 48, 5));
        let other = Activity { mac_type: MacType::Int16, ..counted(1) };
        assert_eq!(counted(1).join(other), None);
    }

    #[test]
    fn a_width_has_the_narrowest_type_that_holds_it() {
        let names = [4, 8, 12, 16, 18, 32].map(|bits| MacType::of_bits(bits).name());
        assert_eq!(names, ["int4", "int8", "int16", "int16", "int32", "int32"]);
        assert_eq!([MemoryClass::Registers, MemoryClass::Sram].map(MemoryClass::name), ["registers", "sram"]);
    }
}
