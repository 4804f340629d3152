//! [`DRRA`], the [`Target`] of this crate.

mod asm_program;
pub(crate) mod diagnose;
mod diagram;
mod instance;
mod machine;
mod maps;
mod model;
mod options;
mod program;
pub(crate) mod terms;
mod trace;

use npukit_target::{
    Compiled, Finding, HazardMode, Instance, InstanceInfo, InstanceSpec, Named, PresetSystem, Presets,
    Reader, Target, TargetError,
};

use crate::config::{PRESETS, System, from_json, from_short, misspelt, preset, settable};
use crate::program::artifact;
use crate::vectors;

use crate::check::lints::LINTS;
use crate::config::fabric::{Fabric, Options};
use crate::config::revision::Revision;
use crate::target::terms::TERMS;
use options::OPTIONS;
use program::DrraProgram;

/// Built-in fabrics. The default is the fabric of the published examples.
const FABRICS: Presets<Fabric> = Presets {
    target: "drra",
    default: "3x1",
    names: || PRESETS.iter().map(|(name, _, _)| *name).collect(),
    named,
    summary: |name, _| summary(name),
    systems: |fabric| PresetSystem::list(&fabric.systems.named, System::summary),
    with_system: Fabric::with_system,
    parameters: settable::tree,
    with_parameters: settable::from_tree,
    extension: "json",
    read: |text| Ok((from_json(text)?, misspelt(text))),
    others: ", or its short form as `1x1:[swb,iosram_both,rf,rf,rf,dpu]`; suffixes: `+ext` for the modes of \
             the extension, `+seed` to follow the ISA document to the letter (`drra:seed` is `3x1+seed`), `+text` for \
             the specification's reading of it, `+later` for the later encoding, `+f11` for 11 fraction bits \
             (released with `+later` only)",
};

/// Suffix of fabrics with dpus that have the modes of the extension.
pub(crate) const EXTENDED: &str = "+ext";
/// Suffix of fabrics that follow the ISA document to the letter.
pub(crate) const SEED: &str = "+seed";
/// Built-in instance that follows the ISA document.
const SEED_PRESET: &str = "seed";
/// Suffix of fabrics that follow the specification's reading of the ISA document.
const TEXT: &str = "+text";
/// Suffix of fabrics with words in the later encoding.
const LATER: &str = "+later";
/// Suffix, before a number, that sets the fraction bits of the products of all dpus.
const FRACTION: &str = "+f";
/// Largest number of fraction bits of a dpu.
const MAX_FRACTION_BITS: u32 = 15;
/// Function that changes a fabric.
type Change = fn(Fabric) -> Fabric;
/// Changes made by the suffixes without a number.
const CHANGES: [(&str, Change); 4] = [
    (EXTENDED, |fabric| Fabric { options: Options { extensions: true, ..fabric.options }, ..fabric }),
    (SEED, |fabric| fabric.of_revision(Revision::Seed)),
    (TEXT, |fabric| fabric.of_revision(Revision::Text)),
    (LATER, |fabric| fabric.of_revision(Revision::Later)),
];

/// KTH's DRRA: a coarse-grained reconfigurable fabric.
pub static DRRA: Target = Target {
    config_extensions: &[FABRICS.extension],
    errors: diagnose::ERRORS,
    options: &OPTIONS,
    terms: TERMS,
    lints: LINTS,
    artifact_extensions: &["drra", artifact::model::EXTENSION],
    load_artifact: Some(load),
    read_vectors: |_, bytes, _| vectors::vectors(bytes),
    ..Target::new("drra", "KTH's DRRA: a coarse-grained reconfigurable fabric", || FABRICS.list(), instance)
};

fn instance(source: InstanceSpec<'_>) -> Result<Box<dyn Instance>, TargetError> {
    let Named { name, config: fabric, warnings } = FABRICS.instance(source)?;
    Ok(Box::new(DrraInstance::new(&name, fabric, warnings)))
}

fn load(path: &str, files: &dyn Reader) -> Result<Box<dyn Compiled>, TargetError> {
    if path.ends_with(artifact::model::EXTENSION) {
        return Ok(Box::new(artifact::model::read(path, files)?));
    }
    Ok(Box::new(DrraProgram::new(artifact::read(path, files)?)))
}

/// Returns the revision that computes, for the meaning asked for. Errors: differences between the
/// fabric and the ISA document, if both must agree.
fn meant(
    revision: Revision,
    meaning: HazardMode,
    findings: impl FnOnce() -> Result<Vec<Finding>, TargetError>,
) -> Result<Revision, TargetError> {
    match meaning {
        // A revision that is the ISA document's own reading is kept. Other revisions use the
        // specification's reading.
        HazardMode::Sequential if revision.is_seed() => Ok(revision),
        HazardMode::Sequential => Ok(Revision::Text),
        HazardMode::Hardware => Ok(revision),
        // These revisions are already the reading of the text.
        HazardMode::Agreed if matches!(revision, Revision::Text | Revision::Seed) => Ok(revision),
        HazardMode::Agreed => {
            let errors: Vec<Finding> = findings()?.into_iter().filter(Finding::is_error).collect();
            if errors.is_empty() { Ok(revision) } else { Err(TargetError::Differs(errors)) }
        }
    }
}

/// Returns a one-line description of a built-in instance.
fn summary(name: &str) -> String {
    let preset = PRESETS.iter().find(|(known, _, _)| *known == name);
    preset.map_or_else(String::new, |(_, summary, _)| (*summary).to_owned())
}

/// Returns a built-in fabric or one in the short form, changed by the suffixes of its name.
///
/// # Errors
///
/// An invalid short form, or an invalid number of fraction bits.
fn named(name: &str) -> Result<Option<Fabric>, String> {
    let own = (plain(name) == SEED_PRESET).then_some(SEED);
    let revisions: Vec<&str> = own.into_iter().chain(endings(name).filter(is_revision)).collect();
    if let [first, second, ..] = revisions[..] {
        return Err(format!("`{first}` and `{second}` both select a revision; remove one of them"));
    }
    for (ending, change) in CHANGES {
        if let Some(plain) = name.strip_suffix(ending) {
            return Ok(named(plain)?.map(change));
        }
    }
    if let Some((plain, bits)) = name.rsplit_once(FRACTION) {
        let bits = bits.parse().ok().filter(|bits| *bits <= MAX_FRACTION_BITS).ok_or_else(|| {
            format!("`{FRACTION}` must be followed by a number of fraction bits, 0 to {MAX_FRACTION_BITS}")
        })?;
        return Ok(named(plain)?.map(|fabric| with_fraction_bits(fabric, bits)));
    }
    if name.contains(':') {
        return from_short(name).map(Some).map_err(|error| error.to_string());
    }
    Ok(preset(name))
}

/// Names a fabric that executes the instructions of the ISA document which the fabric `name`
/// ignores.
pub(crate) fn fabric_of_the_seed(name: &str) -> String {
    // A system and parameters may follow the name. Commas of the short form are inside brackets, so
    // the search starts after the last bracket.
    let list = name.rfind(']').unwrap_or(0); // Default: it is not the short form.
    let end = name[list..].find(['@', ',']).map_or(name.len(), |at| list + at);
    let (name, behind) = name.split_at(end);
    let kept: String = endings(name).filter(|ending| !is_revision(ending)).collect();
    let name = format!("{}{kept}{SEED}", plain(name));
    match named(&name) {
        Ok(Some(_)) => format!("`drra:{name}{behind}`"),
        _ => "a fabric whose file has `\"revision\": \"seed\"`".to_owned(),
    }
}

/// Whether a suffix selects a revision.
fn is_revision(ending: &&str) -> bool {
    [SEED, TEXT, LATER].contains(ending)
}

/// Returns a name without its suffixes.
fn plain(name: &str) -> &str {
    name.split_once('+').map_or(name, |(plain, _)| plain)
}

/// Returns the suffixes of a name, with their `+`.
fn endings(name: &str) -> impl Iterator<Item = &str> {
    let begins = name.match_indices('+').map(|(begin, _)| begin);
    let ends = begins.clone().skip(1).chain(std::iter::once(name.len()));
    begins.zip(ends).map(|(begin, end)| &name[begin..end])
}

/// Sets the fraction bits of the products of all dpus.
fn with_fraction_bits(mut fabric: Fabric, bits: u32) -> Fabric {
    let parts = fabric.cells.iter_mut().flat_map(|cell| &mut cell.resources);
    parts.for_each(|part| part.fraction_bits = bits);
    fabric
}

/// Fabric with its name.
pub(super) struct DrraInstance {
    pub info: InstanceInfo,
    pub fabric: Fabric,
}
