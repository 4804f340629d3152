//! [`World`]: the four targets, and files in memory.

use std::collections::BTreeMap;
use std::path::Path;

use npukit_editor::lsp::Workshop;
use npukit_target::{Instance, InstanceSpec, Reader, Target};

pub static TARGETS: [&Target; 4] =
    [&npukit_tcu::TCU, &npukit_opu::OPU, &npukit_pccx::PCCX, &npukit_drra::DRRA];

/// Files in memory, and the target of their folder.
#[derive(Default)]
pub struct World {
    pub files: BTreeMap<String, Vec<u8>>,
    pub folders: BTreeMap<String, String>,
    pub fallback: Option<String>,
}

impl Workshop for World {
    fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String> {
        let (name, preset) = spec.split_once(':').map_or((spec, None), |(name, preset)| (name, Some(preset)));
        let target = TARGETS.iter().find(|target| target.name == name);
        let target = target.ok_or_else(|| format!("unknown target `{name}`"))?;
        let config = preset.map_or(InstanceSpec::Default, InstanceSpec::Preset);
        target.instance(config).map_err(|error| error.to_string())
    }

    fn of_folder(&self, path: &str) -> Option<String> {
        Path::new(path).ancestors().find_map(|folder| self.folders.get(folder.to_str()?).cloned())
    }

    fn fallback(&self) -> Option<String> {
        self.fallback.clone()
    }

    fn instances(&self) -> Vec<(String, String)> {
        TARGETS.iter().map(|target| (target.name.to_owned(), target.summary.to_owned())).collect()
    }

    fn files(&self) -> &dyn Reader {
        &self.files
    }
}

/// Returns the texts of `examples`, each with its relative path.
pub fn examples() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = Vec::new();
    for target in TARGETS {
        for entry in std::fs::read_dir(root.join(target.name)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "s" || ending == "pasm") {
                let name = format!("{}/{}", target.name, path.file_name().unwrap().to_str().unwrap());
                all.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    all.sort();
    assert!(all.len() >= 30, "{}", all.len());
    all
}
