//! [`Drra`], the [`Target`] of this crate.

mod instance;
mod model;
mod program;

use npukit_target::{
    Case, Compiled, Config as Source, Finding, Instance, Meaning, Preset, Reader, Target, TargetError,
    instance_name,
};

use crate::artifact;
use crate::config::{PRESETS, from_json, from_short, misspelt, preset};
use crate::conform;
use crate::fabric::{Fabric, Options};
use crate::revision::Revision;
use instance::DrraInstance;
use program::DrraProgram;

/// KTH's DRRA: a coarse-grained reconfigurable fabric.
#[derive(Clone, Copy, Debug)]
pub struct Drra;

/// The fabric when none is named: the one of the published examples.
const DEFAULT: &str = "3x1";
/// What names of fabrics end in whose dpus have the modes of the extension.
pub(crate) const EXTENDED: &str = "+ext";
/// What they end in that do what the seed's text says.
pub(crate) const SEED: &str = "+seed";
/// What they end in whose words are in the later encoding.
const LATER: &str = "+later";
/// What they end in, before a number of fraction bits that the products of all dpus lose.
const FRACTION: &str = "+f";
/// Most fraction bits of a dpu.
const MOST_FRACTION_BITS: u32 = 15;
/// Makes a fabric another.
type Change = fn(Fabric) -> Fabric;
/// What endings without a number change.
const CHANGES: [(&str, Change); 3] = [
    (EXTENDED, |fabric| Fabric { options: Options { extensions: true, ..fabric.options }, ..fabric }),
    (SEED, |fabric| fabric.of_revision(Revision::Seed)),
    (LATER, |fabric| fabric.of_revision(Revision::Later)),
];

impl Target for Drra {
    fn name(&self) -> &'static str {
        "drra"
    }

    fn summary(&self) -> &'static str {
        "KTH's DRRA: a coarse-grained reconfigurable fabric"
    }

    fn presets(&self) -> Vec<Preset> {
        let preset = |(name, summary, _): &(&str, &str, &str)| Preset {
            name: (*name).to_owned(),
            summary: (*summary).to_owned(),
        };
        PRESETS.iter().map(preset).collect()
    }

    fn config_extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn instance(&self, source: Source<'_>) -> Result<Box<dyn Instance>, TargetError> {
        Ok(Box::new(match source {
            Source::Default => named(DEFAULT)?,
            Source::Preset(name) => named(name)?,
            Source::File { name, bytes } => from_file(name, bytes)?,
        }))
    }

    fn artifact_extensions(&self) -> &'static [&'static str] {
        &["drra", artifact::model::EXTENSION]
    }

    fn load(&self, path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
        if path.ends_with(artifact::model::EXTENSION) {
            return Ok(Box::new(artifact::model::read(path, files)?));
        }
        Ok(Box::new(DrraProgram::new(artifact::read(path, files)?)))
    }

    fn vectors(&self, _path: &str, bytes: &[u8], _files: &dyn Reader) -> Option<Vec<Case>> {
        conform::vectors(bytes)
    }
}

/// The revision that computes, by what is meant. Errors: what the fabric computes otherwise than the text says, when
/// both must agree.
fn meant(
    revision: Revision,
    meaning: Meaning,
    findings: impl FnOnce() -> Result<Vec<Finding>, TargetError>,
) -> Result<Revision, TargetError> {
    match meaning {
        Meaning::Sequential => Ok(Revision::Seed),
        Meaning::Hardware => Ok(revision),
        // The text agrees with itself.
        Meaning::Agreed if revision == Revision::Seed => Ok(revision),
        Meaning::Agreed => {
            let errors: Vec<Finding> = findings()?.into_iter().filter(Finding::is_error).collect();
            if errors.is_empty() { Ok(revision) } else { Err(TargetError::Differs(errors)) }
        }
    }
}

/// A preset, or a fabric in the short form.
fn named(name: &str) -> Result<DrraInstance, TargetError> {
    let unknown = |reason: String| TargetError::Option {
        key: "target".to_owned(),
        value: format!("drra:{name}"),
        reason,
    };
    for (ending, change) in CHANGES {
        if let Some(plain) = name.strip_suffix(ending) {
            let fabric = change(named(plain)?.fabric);
            return Ok(DrraInstance { name: name.to_owned(), fabric, warnings: Vec::new() });
        }
    }
    if let Some((plain, bits)) = name.rsplit_once(FRACTION) {
        let legal =
            || unknown(format!("`{FRACTION}` is followed by fraction bits, 0 to {MOST_FRACTION_BITS}"));
        let bits = bits.parse().ok().filter(|bits| *bits <= MOST_FRACTION_BITS).ok_or_else(legal)?;
        let mut instance = named(plain)?;
        let parts = instance.fabric.cells.iter_mut().flat_map(|cell| &mut cell.resources);
        parts.for_each(|part| part.fraction_bits = bits);
        return Ok(DrraInstance { name: name.to_owned(), ..instance });
    }
    if name.contains(':') {
        let fabric = from_short(name).map_err(|error| unknown(error.to_string()))?;
        return Ok(DrraInstance { name: name.to_owned(), fabric, warnings: Vec::new() });
    }
    let fabric = preset(name).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|(name, _, _)| *name).collect();
        unknown(format!(
            "there is no such fabric; there are {}, each also with `+ext` behind for the modes of the extension, `+seed` for \
             what the seed's text says, `+later` for the later encoding or `+f11` for 11 fraction bits (released with \
             `+later` only), or give an architecture as .json, or its short form as `1x1:[swb,iosram_both,rf,rf,rf,dpu]`",
            names.join(", ")
        ))
    })?;
    Ok(DrraInstance { name: name.to_owned(), fabric, warnings: Vec::new() })
}

/// The instance is named after the file.
fn from_file(name: &str, bytes: &[u8]) -> Result<DrraInstance, TargetError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        TargetError::failed(format!("{name}: byte {} is not UTF-8 text", error.valid_up_to()))
    })?;
    let fabric = from_json(text).map_err(|error| TargetError::failed(format!("{name}: {error}")))?;
    let warnings = misspelt(text).iter().map(|warning| format!("{name}: {warning}")).collect();
    Ok(DrraInstance { name: instance_name(name).to_owned(), fabric, warnings })
}
