//! [`Editor`]: lookup of targets, files and settings for an editor.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Command;
use npukit::verbs::list;
use npukit::{Instance, Reader};

use crate::disk::Disk;
use crate::settings;

/// Lookup for an editor: targets by name, files on the disk, and the nearest
/// `npu.toml` in or above a file's folder.
pub struct Editor {
    fallback: Option<String>,
    /// Creates all verbs, which define the settings that a file may contain.
    verbs: fn() -> Command,
    /// The verbs, created on first use, since it takes a while.
    command: OnceLock<Command>,
}

impl Editor {
    /// Creates an editor. `fallback` is the target of texts for which nothing else specifies one;
    /// `verbs` creates the command line.
    pub fn new(fallback: Option<String>, verbs: fn() -> Command) -> Self {
        Self { fallback, verbs, command: OnceLock::new() }
    }

    /// Returns the instance with a name such as `NAME:PRESET`.
    ///
    /// # Errors
    ///
    /// The reason why there is no such instance, as text.
    pub fn instance(&self, spec: &str) -> Result<Box<dyn Instance>, String> {
        npukit::resolve(spec, &Disk).map_err(|error| {
            let messages = error.diagnostics().into_iter().map(|one| match one.help {
                Some(help) => format!("{}\n{help}", one.message),
                None => one.message,
            });
            messages.collect::<Vec<_>>().join("\n")
        })
    }

    /// Returns the target of the nearest `npu.toml` in or above the folder of `path`.
    pub fn target_of_folder(&self, path: &str) -> Option<String> {
        let folder = Path::new(path).parent().map(PathBuf::from)?;
        // Default: errors in such a file are reported by every other verb.
        settings::target_of_folder(&folder, self.command.get_or_init(self.verbs)).ok().flatten()
    }

    /// Returns the value of `--target`.
    pub fn fallback(&self) -> Option<String> {
        self.fallback.clone()
    }

    /// Returns the names of instances, with their descriptions.
    pub fn instances(&self) -> Vec<(String, String)> {
        let all = list::list();
        let names = all.iter().map(|target| (target.name.clone(), target.summary.clone()));
        let instances = all.iter().flat_map(list::TargetReport::instances);
        names.chain(instances.map(|(name, summary)| (name, summary.to_owned()))).collect()
    }

    /// Returns the reader for files on the disk.
    pub fn files(&self) -> &dyn Reader {
        &Disk
    }
}
