//! `npu lsp`

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Command;

use npukit::verbs::list;
use npukit::{Instance, Reader};
use npukit_lsp::{Workshop, stdio};

use crate::answer::Answer;
use crate::args::{LspArgs, command};
use crate::disk::{Disk, take_standard_output};
use crate::failure::Failure;
use crate::settings;

pub fn run(args: &LspArgs) -> Result<Answer, Failure> {
    // It is the editor's.
    take_standard_output();
    stdio(&OnDisk { fallback: args.target.clone(), command: OnceLock::new() })?;
    Ok(Answer::new(String::new(), &serde_json::json!({})))
}

/// Targets by their names, files on the disk, the `npu.toml` of a file's folder or of one above it.
struct OnDisk {
    fallback: Option<String>,
    /// All verbs, which know what a file may set; it takes a while to make them.
    command: OnceLock<Command>,
}

impl Workshop for OnDisk {
    fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String> {
        npukit::resolve(spec, &Disk).map_err(|error| {
            let told = error.diagnostics().into_iter().map(|one| match one.help {
                Some(help) => format!("{}\n{help}", one.message),
                None => one.message,
            });
            told.collect::<Vec<_>>().join("\n")
        })
    }

    fn of_folder(&self, path: &str) -> Option<String> {
        let folder = Path::new(path).parent().map(PathBuf::from)?;
        // Default: what is wrong with such a file, every other verb says.
        settings::target_of_folder(&folder, self.command.get_or_init(command)).ok().flatten()
    }

    fn fallback(&self) -> Option<String> {
        self.fallback.clone()
    }

    fn instances(&self) -> Vec<(String, String)> {
        let all = list::list();
        let names = all.iter().map(|target| (target.name.clone(), target.summary.clone()));
        let instances = all.iter().flat_map(list::TargetReport::instances);
        names.chain(instances.map(|(name, summary)| (name, summary.to_owned()))).collect()
    }

    fn files(&self) -> &dyn Reader {
        &Disk
    }
}
