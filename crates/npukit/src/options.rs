//! The targets' own options: [`declared`] has all of them; those of `npu time` are separated here.

use std::collections::BTreeMap;

pub use npukit_target::{Aliases, OptionSpec, Stage, Values};

use npukit_target::{Chosen, Target};

use crate::Context;
use crate::error::Error;
use crate::model::source::Source;
use crate::targets::targets;

/// Options by name.
type Given = BTreeMap<String, String>;

/// Every option of every target, with the target's name.
pub fn declared() -> impl Iterator<Item = (&'static str, &'static OptionSpec)> {
    targets().iter().flat_map(|target| target.options.iter().map(|spec| (target.name, spec)))
}

/// `source` with the options of its compilation, and the options of timing: `given`, and those of `source` that are
/// declared for it. Of an artifact, those that nobody declares too: nothing is compiled.
///
/// `stage` is that of timing.
///
/// # Errors
///
/// A model without a target, or with one that does not exist; an option of timing that is not legal at `stage`.
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
