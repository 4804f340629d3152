//! [`Presets`]: the built-in instances of a target, and the lookup of any of its instances.

use std::error::Error;

use npukit_base::suggestion;
use serde_json::Value;

use crate::config::name::instance_name;
use crate::config::parameters::{Setting, changed, split_parameters, with_parameters};
use crate::config::preset::{InstanceSpec, Preset, PresetSystem};
use crate::config::system::{split_system, with_system};
use crate::error::TargetError;

/// Parameters and warnings of a configuration file, or the reason why it is invalid.
pub type Read<C> = Result<(C, Vec<String>), Box<dyn Error + Send + Sync>>;

/// Built-in instances of a target whose parameters have type `C`.
#[derive(Clone, Copy, Debug)]
pub struct Presets<C> {
    /// Short name of the target.
    pub target: &'static str,
    /// Name of the default instance.
    pub default: &'static str,
    /// Returns the names of the built-in instances, in listing order.
    pub names: fn() -> Vec<&'static str>,
    /// Looks up an instance by name, which may be a variation of a built-in one; `None` if it is
    /// unknown. Errors: an illegal variation.
    pub named: fn(&str) -> Result<Option<C>, String>,
    /// Describes a built-in instance in one line.
    pub summary: fn(&str, &C) -> String,
    /// Returns the systems of an instance in addition to its own.
    pub systems: fn(&C) -> Vec<PresetSystem>,
    /// Replaces the system of an instance by the one of that name. Errors: an unknown system, or
    /// one that does not fit.
    pub with_system: fn(C, &str) -> Result<C, String>,
    /// Returns the settable parameters with the keys of a configuration file; null marks those
    /// without a value.
    pub parameters: fn(&C) -> Value,
    /// Replaces the parameters by a tree as `parameters` returns it. Errors: an illegal value, with
    /// the legal ones.
    pub with_parameters: fn(C, Value) -> Result<C, String>,
    /// File name extension of configuration files, without the dot.
    pub extension: &'static str,
    /// Reads a configuration file.
    pub read: fn(&str) -> Read<C>,
    /// Further forms of instance names, for the message that an instance is unknown.
    pub others: &'static str,
}

/// Parameters of an instance, with their name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<C> {
    /// Name of the built-in instance, or of the file without its extension.
    pub name: String,
    /// Parameters of the instance.
    pub config: C,
    /// Warnings about the file for its author; empty for a built-in instance.
    pub warnings: Vec<String>,
}

impl<C> Presets<C> {
    /// Lists the built-in instances.
    ///
    /// # Panics
    ///
    /// If one of the names has no instance.
    pub fn list(&self) -> Vec<Preset> {
        let preset = |name: &'static str| {
            let config = (self.named)(name).ok().flatten().expect("every name of the list has an instance");
            let systems = (self.systems)(&config);
            Preset { name: name.to_owned(), summary: (self.summary)(name, &config), systems }
        };
        (self.names)().into_iter().map(preset).collect()
    }

    /// Returns the instance that `source` selects.
    ///
    /// # Errors
    ///
    /// A name that no instance has; an invalid configuration file.
    pub fn instance(&self, source: InstanceSpec<'_>) -> Result<Named<C>, TargetError> {
        match source {
            InstanceSpec::Default => self.preset(self.default),
            InstanceSpec::Preset(name) => self.preset(name),
            InstanceSpec::File { name, bytes } => self.file(name, bytes),
        }
    }

    /// Returns the instance called `name`, which may include the name of a system.
    ///
    /// # Errors
    ///
    /// An unknown instance, or a system that the instance does not have.
    pub fn preset(&self, name: &str) -> Result<Named<C>, TargetError> {
        let unknown = |reason| TargetError::option("target", &format!("{}:{name}", self.target), reason);
        let (board, settings) = split_parameters(name);
        let (instance, system) = split_system(board);
        let config = (self.named)(instance).map_err(unknown)?.ok_or_else(|| unknown(self.known(instance)))?;
        let config = self.chosen(config, system, &settings).map_err(unknown)?;
        Ok(Named { name: name.to_owned(), config, warnings: Vec::new() })
    }

    /// Applies the named system, if any, and the settings to `config`.
    fn chosen(&self, config: C, system: Option<&str>, settings: &[Setting<'_>]) -> Result<C, String> {
        let config = match system {
            Some(system) => (self.with_system)(config, system)?,
            None => config,
        };
        if settings.is_empty() {
            return Ok(config);
        }
        let tree = changed((self.parameters)(&config), settings)?;
        (self.with_parameters)(config, tree)
    }

    /// Returns the message that no instance is called `name`, with a suggestion and all instances.
    fn known(&self, name: &str) -> String {
        let names = (self.names)();
        let (meant, all) = (suggestion(name, names.iter().copied()), names.join(", "));
        if !meant.is_empty() {
            return format!("unknown instance{meant}; `npu targets {}` lists all", self.target);
        }
        format!("unknown instance; available are {all}, or a .{} file{}", self.extension, self.others)
    }

    /// Reads an instance from a file and names it after the file.
    fn file(&self, name: &str, bytes: &[u8]) -> Result<Named<C>, TargetError> {
        let (board, settings) = split_parameters(name);
        let (file, system) = split_system(board);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            TargetError::in_file(file, format!("byte {} is not UTF-8 text", error.valid_up_to()))
        })?;
        let (config, warnings) = (self.read)(text).map_err(|error| TargetError::in_file(file, error))?;
        let config =
            self.chosen(config, system, &settings).map_err(|error| TargetError::in_file(file, error))?;
        let warnings = warnings.iter().map(|warning| format!("{file}: {warning}")).collect();
        let instance = instance_name(file);
        let name = system.map_or_else(|| instance.to_owned(), |system| with_system(instance, system));
        let name = with_parameters(&name, &settings).map_err(|error| TargetError::in_file(file, error))?;
        Ok(Named { name, config, warnings })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const PRESETS: Presets<u32> = Presets {
        target: "t",
        default: "one",
        names: || vec!["one", "two"],
        named: |name| match name {
            "one" => Ok(Some(1)),
            "two" => Ok(Some(2)),
            "two+x" => Err("x is a number".to_owned()),
            _ => Ok(None),
        },
        summary: |name, config| format!("{name} is {config}"),
        systems: |config| {
            vec![PresetSystem { name: "double".to_owned(), summary: format!("{}", 2 * config) }]
        },
        with_system: |config, name| if name == "double" { Ok(2 * config) } else { Err(format!("no {name}")) },
        parameters: |config| serde_json::json!({ "size": config }),
        with_parameters: |_, tree| match tree["size"].as_u64() {
            Some(size @ 1..=9) => Ok(size as u32),
            _ => Err("`size` is 1 to 9".to_owned()),
        },
        extension: "txt",
        read: |text| Ok((text.parse().map_err(|_| "not a number".to_owned())?, vec!["small".to_owned()])),
        others: "",
    };

    fn message(source: InstanceSpec<'_>) -> String {
        PRESETS.instance(source).unwrap_err().to_string()
    }

    #[test]
    fn instances_are_found_by_name() {
        let summaries: Vec<String> = PRESETS.list().into_iter().map(|preset| preset.summary).collect();
        assert_eq!(summaries, ["one is 1", "two is 2"]);
        let named = |name: &str, config| Named { name: name.to_owned(), config, warnings: Vec::new() };
        assert_eq!(PRESETS.instance(InstanceSpec::Default).unwrap(), named("one", 1));
        assert_eq!(PRESETS.instance(InstanceSpec::Preset("two")).unwrap(), named("two", 2));
        let unknown = "option `target=t:six`: unknown instance; available are one, two, or a .txt file";
        assert_eq!(message(InstanceSpec::Preset("six")), unknown);
        assert!(
            message(InstanceSpec::Preset("tow"))
                .contains("unknown instance (did you mean `two`?); `npu targets t` lists all")
        );
        assert_eq!(message(InstanceSpec::Preset("two+x")), "option `target=t:two+x`: x is a number");
    }

    #[test]
    fn a_system_is_named_after_its_instance() {
        let found = PRESETS.instance(InstanceSpec::Preset("two@double")).unwrap();
        assert_eq!((found.name.as_str(), found.config), ("two@double", 4));
        assert_eq!(message(InstanceSpec::Preset("two@half")), "option `target=t:two@half`: no half");
        let file = |name| InstanceSpec::File { name, bytes: b"7" };
        let found = PRESETS.instance(file("boards/mine.txt@double")).unwrap();
        assert_eq!((found.name.as_str(), found.config), ("mine@double", 14));
        assert_eq!(found.warnings, ["boards/mine.txt: small"]);
        assert_eq!(message(file("mine.txt@half")), "mine.txt: no half");
        assert_eq!(PRESETS.list()[1].systems[0].summary, "4");
    }

    #[test]
    fn parameters_follow_all_else() {
        let found = PRESETS.instance(InstanceSpec::Preset("two@double,size=3")).unwrap();
        assert_eq!((found.name.as_str(), found.config), ("two@double,size=3", 3));
        let file = |name| InstanceSpec::File { name, bytes: b"7" };
        let found = PRESETS.instance(file("boards/mine.txt@double,size=5")).unwrap();
        assert_eq!((found.name.as_str(), found.config), ("mine@double,size=5", 5));
        assert_eq!(
            message(InstanceSpec::Preset("two,size=10")),
            "option `target=t:two,size=10`: `size` is 1 to 9"
        );
        assert_eq!(
            message(file("mine.txt,depth=1")),
            "mine.txt: unknown parameter `depth`; available are size"
        );
    }

    #[test]
    fn instances_are_read_from_files() {
        let file = |bytes| InstanceSpec::File { name: "boards/mine.v2.txt", bytes };
        let found = PRESETS.instance(file(b"7")).unwrap();
        assert_eq!((found.name.as_str(), found.config), ("mine.v2", 7));
        assert_eq!(found.warnings, ["boards/mine.v2.txt: small"]);
        assert_eq!(message(file(b"x")), "boards/mine.v2.txt: not a number");
        assert_eq!(message(file(b"7\xff")), "boards/mine.v2.txt: byte 1 is not UTF-8 text");
    }
}
