//! The library of SystemVerilog modules that circuits of all targets use: `crates/rtl/sv`.

use crate::rtl::circuit::Source;

/// Embeds files of `crates/rtl/sv`.
macro_rules! sources {
    ($($name:literal,)*) => {
        &[$(Source { name: $name, text: include_str!(concat!("../../../rtl/sv/", $name)) },)*]
    };
}

/// Modules of the library, the package first.
pub const LIBRARY: &[Source] = sources![
    "npu_pkg.sv",
    "npu_address_generator.sv",
    "npu_burst_splitter.sv",
    "npu_counted_queue.sv",
    "npu_delay.sv",
    "npu_fork.sv",
    "npu_memory_port.sv",
    "npu_packer.sv",
    "npu_queue.sv",
    "npu_ram.sv",
    "npu_read_master.sv",
    "npu_selector.sv",
    "npu_stays.sv",
    "npu_unpacker.sv",
    "npu_vector_to_words.sv",
    "npu_words_to_vector.sv",
    "npu_write_master.sv",
];

/// Checker of an AXI bus, for test benches.
pub const AXI_CHECKER: Source =
    Source { name: "npu_axi_checker.sv", text: include_str!("../../../rtl/sv/sim/npu_axi_checker.sv") };

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn every_module_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../rtl/sv");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = names.filter(|name| name.ends_with(".sv")).collect();
        let mut embedded: Vec<&str> = LIBRARY.iter().map(|source| source.name).collect();
        assert_eq!(embedded[0], "npu_pkg.sv");
        found.sort_unstable();
        embedded.sort_unstable();
        assert_eq!(found, embedded);
        assert!(embedded.iter().all(|name| name.starts_with("npu_")), "{embedded:?}");
    }
}
