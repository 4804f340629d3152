//! Options of the targets: [`declared`] lists all of them. Options of `npu time` are separated
//! here.

use std::collections::BTreeMap;

pub use npukit_target::{Aliases, OptionSpec, Stage, Values};

use npukit_target::{Chosen, Target};

use crate::Context;
use crate::error::Error;
use crate::model::source::Source;
use crate::targets::targets;

/// Options by name.
type Given = BTreeMap<String, String>;

/// Lists every option of every target, with the target's name.
pub fn declared() -> impl Iterator<Item = (&'static str, &'static OptionSpec)> {
    targets().iter().flat_map(|target| target.options.iter().map(|spec| (target.name, spec)))
}

/// Splits options into compilation options, returned with `source`, and timing options: `given`,
/// and declared ones in `source`. For an artifact, undeclared options count as timing options too,
/// because nothing is compiled.
///
/// `stage` is the stage of timing options.
///
/// # Errors
///
/// Fails for a model without a target, or with an unknown one, and for an option that is illegal at
/// `stage`.
pub(crate) fn for_time(
    source: &Source,
    given: &Given,
    stage: Stage,
    context: Context<'_>,
) -> Result<(Source, Given), Error> {
    let target = source.accelerator(context)?;
    let is_of_time = |key: &str| match target.options.iter().find(|spec| spec.is_called(key)) {
        Some(spec) => spec.stage != Stage::Compile,
        None => source.is_artifact(),
    };
    let (mut time, compile): (Given, Given) =
        source.options.clone().into_iter().partition(|(key, _)| is_of_time(key));
    time.extend(given.clone());
    check(target, stage, &time)?;
    Ok((Source { options: compile, ..source.clone() }, time))
}

fn check(target: &Target, stage: Stage, given: &Given) -> Result<(), Error> {
    let chosen = Chosen::new(target.name, target.options, stage, given);
    chosen.map(|_| ()).map_err(|error| Error::Target(error.into()))
}
