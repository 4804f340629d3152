//! `architecture_params.h`: the architecture as macros, for compiling Tensil's embedded driver.
//!
//! That driver accepts a model only if all nine macros equal the model's own. Source:
//! specification, 2.

use std::fmt::Write as _;

use npukit_target::ArtifactFile;

use crate::config::{Config, System};

/// Name under which the driver includes the file.
const FILE: &str = "architecture_params.h";

/// Returns the file for programs of `config` in `system`: the nine macros, followed by the driver's
/// values for the cache registers, if the system specifies them. Their names are npukit's own.
pub fn header(config: &Config, system: &System) -> ArtifactFile {
    let mut text = String::from(
        "// The architecture of the programs next to this file, for Tensil's embedded driver.\n",
    );
    text += "#pragma once\n\n";
    let data_type = format!("TENSIL_DATA_TYPE_{}", config.data_type.name());
    let depths = [
        ("ARRAY_SIZE", config.array_size as u64),
        ("DRAM0_DEPTH", config.dram0_depth),
        ("DRAM1_DEPTH", config.dram1_depth),
        ("LOCAL_DEPTH", config.local_depth),
        ("ACCUMULATOR_DEPTH", config.accumulator_depth),
        ("SIMD_REGISTERS_DEPTH", config.simd_registers_depth as u64),
        ("STRIDE0_DEPTH", config.stride0_depth as u64),
        ("STRIDE1_DEPTH", config.stride1_depth as u64),
    ];
    let depths = depths.map(|(name, depth)| (name, depth.to_string()));
    for (name, value) in std::iter::once(("DATA_TYPE", data_type)).chain(depths) {
        // The result is ignored because writing to a string cannot fail.
        let _ = writeln!(text, "#define TENSIL_ARCHITECTURE_{name} {value}");
    }
    let caches = [("DRAM0", system.dram0_cache), ("DRAM1", system.dram1_cache)];
    for (bank, value) in caches.into_iter().filter_map(|(bank, value)| Some((bank, value?))) {
        let _ = writeln!(text, "#define NPUKIT_{bank}_CACHE {value:#x}");
    }
    ArtifactFile { name: FILE.to_owned(), bytes: text.into_bytes() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_nine_macros_of_the_driver() {
        let expected = "\
// The architecture of the programs next to this file, for Tensil's embedded driver.
#pragma once

#define TENSIL_ARCHITECTURE_DATA_TYPE TENSIL_DATA_TYPE_FP16BP8
#define TENSIL_ARCHITECTURE_ARRAY_SIZE 32
#define TENSIL_ARCHITECTURE_DRAM0_DEPTH 2097152
#define TENSIL_ARCHITECTURE_DRAM1_DEPTH 2097152
#define TENSIL_ARCHITECTURE_LOCAL_DEPTH 16384
#define TENSIL_ARCHITECTURE_ACCUMULATOR_DEPTH 4096
#define TENSIL_ARCHITECTURE_SIMD_REGISTERS_DEPTH 1
#define TENSIL_ARCHITECTURE_STRIDE0_DEPTH 8
#define TENSIL_ARCHITECTURE_STRIDE1_DEPTH 8
";
        let text = |system| {
            let file = header(&Config::preset("zcu104").unwrap(), &system);
            assert_eq!(file.name, "architecture_params.h");
            String::from_utf8(file.bytes).unwrap()
        };
        assert_eq!(text(System::OPEN), expected);
        let cached = System { dram0_cache: Some(3), dram1_cache: Some(15), ..System::OPEN };
        let caches = "#define NPUKIT_DRAM0_CACHE 0x3\n#define NPUKIT_DRAM1_CACHE 0xf\n";
        assert_eq!(text(cached), format!("{expected}{caches}"));
    }
}
