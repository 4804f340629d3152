//! [`Capacity`]: the resources of an FPGA, compared with what an instance needs.

use npukit_target::Area;

/// Resources of an FPGA of the ECP5 family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Number of lookup tables with four inputs.
    pub luts: u64,
    /// Number of multipliers of 18 x 18 bits.
    pub multipliers: u64,
    /// Number of block RAMs of 18 kbit.
    pub block_rams: u64,
}

/// Shortage of a resource of an FPGA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Name of the resource.
    pub resource: &'static str,
    /// Number that is needed at least.
    pub needed: u64,
    /// Number that the FPGA has.
    pub available: u64,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it needs at least {} {}, and the FPGA has {}", self.needed, self.resource, self.available)
    }
}

impl Capacity {
    /// Returns what is missing for an instance alone, without a system around it. An area that is
    /// not estimated fits.
    pub fn shortages(&self, area: &Area) -> Vec<Shortage> {
        // An area counts block RAMs of 36 kbit in halves, which have the size of the ECP5's.
        let halves = area.bram.map(|blocks| 2.0 * blocks);
        // An area counts lookup tables with six inputs: each takes at least one with four.
        let resources = [
            ("lookup tables", area.lut, self.luts),
            ("multipliers", area.dsp, self.multipliers),
            ("block RAMs of 18 kbit", halves, self.block_rams),
        ];
        let shortage = |(resource, needed, available): (&'static str, Option<f64>, u64)| {
            let needed = needed? as u64;
            (needed > available).then_some(Shortage { resource, needed, available })
        };
        resources.into_iter().filter_map(shortage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortages_have_both_numbers() {
        let capacity = Capacity { luts: 83_640, multipliers: 156, block_rams: 208 };
        let area = Area { dsp: Some(272.0), bram: Some(104.0), ..Area::default() };
        let shortages: Vec<String> = capacity.shortages(&area).iter().map(ToString::to_string).collect();
        assert_eq!(shortages, ["it needs at least 272 multipliers, and the FPGA has 156"]);
        assert_eq!(capacity.shortages(&Area::default()), []);
    }
}
