//! Sources of a system around the circuit, and of its firmware: files of `drivers`, embedded.

use npukit_target::rtl::Source;

/// Embeds files of `drivers`.
macro_rules! sources {
    ($($name:literal,)*) => {
        &[$(Source { name: $name, text: include_str!(concat!("../../../../drivers/", $name)) },)*]
    };
}

/// Files with their names relative to `drivers`.
pub(super) const SYSTEM: &[Source] = sources![
    "c/hal/bare_metal.c",
    "c/hal/litex.c",
    "c/hal/remote.c",
    "c/include/npukit/axi_dma.h",
    "c/include/npukit/error.h",
    "c/include/npukit/hal.h",
    "c/include/npukit/hal/bare_metal.h",
    "c/include/npukit/hal/litex.h",
    "c/include/npukit/hal/remote.h",
    "c/include/npukit/json.h",
    "c/include/npukit/layout.h",
    "c/include/npukit/npy.h",
    "c/include/npukit/number.h",
    "c/include/npukit/tcu.h",
    "c/src/axi_dma.c",
    "c/src/error.c",
    "c/src/hal.c",
    "c/src/json.c",
    "c/src/layout.c",
    "c/src/npy.c",
    "c/src/number.c",
    "c/src/tcu.c",
    "c/src/tcu_code.c",
    "c/src/tcu_model.c",
    "litex/firmware/Makefile",
    "litex/firmware/boot.S",
    "litex/firmware/boot.c",
    "litex/firmware/boot.ld",
    "litex/firmware/console.c",
    "litex/firmware/console.h",
    "litex/firmware/firmware.ld",
    "litex/firmware/image.c",
    "litex/firmware/image.h",
    "litex/firmware/include/hw/common.h",
    "litex/firmware/include/string.h",
    "litex/firmware/include/system.h",
    "litex/firmware/main.c",
    "litex/firmware/memory.c",
    "litex/firmware/platform.h",
    "litex/firmware/platform_litex.c",
    "litex/firmware/platform_qemu.c",
    "litex/firmware/qemu_regions.ld",
    "litex/firmware/start.S",
    "litex/firmware/uart.c",
    "litex/npukit_litex/__init__.py",
    "litex/npukit_litex/circuit.py",
    "litex/npukit_litex/dma.py",
    "litex/npukit_litex/image.py",
    "litex/npukit_litex/orangecrab.py",
    "litex/npukit_litex/ports.py",
    "litex/npukit_litex/sim.cpp",
    "litex/npukit_litex/sim.py",
    "litex/npukit_litex/soc.py",
    "litex/npukit_litex/steady.py",
    "litex/npukit_litex/tcu.py",
    "litex/npukit_litex/ulx3s.py",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Returns the files below a folder.
    fn below(folder: &Path) -> Vec<PathBuf> {
        let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let inner = |path: PathBuf| if path.is_dir() { below(&path) } else { vec![path] };
        entries.flat_map(inner).collect()
    }

    #[test]
    fn every_file_of_the_system_is_embedded() {
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers");
        let relative = |path: PathBuf| {
            let path = path.strip_prefix(&drivers).unwrap();
            path.components().map(|part| part.as_os_str().to_str().unwrap()).collect::<Vec<_>>().join("/")
        };
        let files: BTreeSet<String> = below(&drivers.join("litex")).into_iter().map(relative).collect();
        let embedded: BTreeSet<String> = SYSTEM.iter().map(|source| source.name.to_owned()).collect();
        let missing: Vec<&String> =
            files.difference(&embedded).filter(|name| !name.contains("__pycache__")).collect();
        assert_eq!(missing, Vec::<&String>::new());
    }
}
