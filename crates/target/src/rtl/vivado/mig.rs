//! Project of the generator of memory interfaces, for the memory of an Arty A7.

/// Pins of the memory: name, whether it is one bit without an index, whether it is one side of a
/// pair, and pads from bit 0 on.
///
/// Source: the board's schematic, equal for both sizes of the FPGA.
#[rustfmt::skip] // A table.
const PINS: &[(&str, bool, bool, &[&str])] = &[
    ("ddr3_addr",    false, false, &["R2", "M6", "N4", "T1", "N6", "R7", "V6", "U7", "R8", "V7", "R6", "U6", "T6", "T8"]),
    ("ddr3_ba",      false, false, &["R1", "P4", "P2"]),
    ("ddr3_cas_n",   true,  false, &["M4"]),
    ("ddr3_ck_n",    false, true,  &["V9"]),
    ("ddr3_ck_p",    false, true,  &["U9"]),
    ("ddr3_cke",     false, false, &["N5"]),
    ("ddr3_cs_n",    false, false, &["U8"]),
    ("ddr3_dm",      false, false, &["L1", "U1"]),
    ("ddr3_dq",      false, false, &["K5", "L3", "K3", "L6", "M3", "M1", "L4", "M2", "V4", "T5", "U4", "V5", "V1", "T3", "U3", "R3"]),
    ("ddr3_dqs_n",   false, true,  &["N1", "V2"]),
    ("ddr3_dqs_p",   false, true,  &["N2", "U2"]),
    ("ddr3_odt",     false, false, &["R5"]),
    ("ddr3_ras_n",   true,  false, &["P3"]),
    ("ddr3_reset_n", true,  false, &["K6"]),
    ("ddr3_we_n",    true,  false, &["P5"]),
];

/// Project with places for the FPGA and the pins.
const PROJECT: &str = include_str!("arty_mig.prj");

/// Returns the project for an FPGA, which is given in the generator's notation.
pub(super) fn project(fpga: &str) -> String {
    let pins: String = PINS.iter().map(|(name, is_single, is_pair, pads)| {
        let standard = if *is_pair { "DIFF_SSTL135" } else { "SSTL135" };
        let pin = |(bit, pad): (usize, &&str)| {
            let index = if *is_single { String::new() } else { format!("[{bit}]") };
            format!(
                "      <Pin IN_TERM=\"\" IOSTANDARD=\"{standard}\" PADName=\"{pad}\" SLEW=\"\" VCCAUX_IO=\"\" name=\"{name}{index}\"/>\n"
            )
        };
        pads.iter().enumerate().map(pin).collect::<String>()
    }).collect();
    PROJECT.replace("@FPGA@", fpga).replace("@PINS@", &pins)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pin_of_the_memory_has_its_own_pad() {
        let text = project("xc7a100t-csg324/-1");
        assert!(text.contains("<TargetFPGA>xc7a100t-csg324/-1</TargetFPGA>"), "{text}");
        let pads: Vec<&str> =
            text.lines().filter_map(|line| line.split("PADName=\"").nth(1)?.split('"').next()).collect();
        let pads: Vec<&str> = pads.into_iter().filter(|pad| *pad != "No connect").collect();
        // Address, bank, data, and the others: control, clock, strobes and masks.
        assert_eq!(pads.len(), 14 + 3 + 16 + 15);
        assert_eq!(pads.iter().collect::<BTreeSet<_>>().len(), pads.len());
        assert!(text.contains("PADName=\"K6\" SLEW=\"\" VCCAUX_IO=\"\" name=\"ddr3_reset_n\""), "{text}");
        assert!(
            text.contains("\"DIFF_SSTL135\" PADName=\"U2\" SLEW=\"\" VCCAUX_IO=\"\" name=\"ddr3_dqs_p[1]\""),
            "{text}"
        );
        assert!(!text.contains('@'), "{text}");
    }
}
