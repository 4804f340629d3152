//! [`Editor`]: what an editor is served from.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Command;
use npukit::verbs::list;
use npukit::{Instance, Reader};

use crate::disk::Disk;
use crate::settings;

/// What an editor is served from: targets by their names, files on the disk, the `npu.toml` of a file's folder or of one
/// above it.
pub struct Editor {
    fallback: Option<String>,
    /// Makes all verbs, which know what a file may set.
    verbs: fn() -> Command,
    /// They, once made: it takes a while.
    command: OnceLock<Command>,
}

impl Editor {
    /// One whose texts are for `fallback`, where nothing else says what they are for; `verbs` makes the command line.
    pub fn new(fallback: Option<String>, verbs: fn() -> Command) -> Self {
        Self { fallback, verbs, command: OnceLock::new() }
    }

    /// The instance that a name stands for, as `NAME:PRESET`.
    ///
    /// # Errors
    ///
    /// Why there is none, for people.
    pub fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String> {
        npukit::resolve(spec, &Disk).map_err(|error| {
            let told = error.diagnostics().into_iter().map(|one| match one.help {
                Some(help) => format!("{}\n{help}", one.message),
                None => one.message,
            });
            told.collect::<Vec<_>>().join("\n")
        })
    }

    /// The instance that the `npu.toml` of the folder of `path`, or of one above it, names.
    pub fn target_of_folder(&self, path: &str) -> Option<String> {
        let folder = Path::new(path).parent().map(PathBuf::from)?;
        // Default: what is wrong with such a file, every other verb says.
        settings::target_of_folder(&folder, self.command.get_or_init(self.verbs)).ok().flatten()
    }

    /// The instance of `--target`.
    pub fn fallback(&self) -> Option<String> {
        self.fallback.clone()
    }

    /// Names of instances, each with what it is.
    pub fn instances(&self) -> Vec<(String, String)> {
        let all = list::list();
        let names = all.iter().map(|target| (target.name.clone(), target.summary.clone()));
        let instances = all.iter().flat_map(list::TargetReport::instances);
        names.chain(instances.map(|(name, summary)| (name, summary.to_owned()))).collect()
    }

    /// Files on the disk.
    pub fn files(&self) -> &dyn Reader {
        &Disk
    }
}
