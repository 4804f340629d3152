//! Opens both sides; one may take names and shapes from the other: [`open`].

use super::{Request, SideReport};
use crate::Context;
use crate::compare::traced::float::Float;
use crate::compare::traced::machine::Machine;
use crate::compare::traced::open::{self, Named};
use crate::compare::traced::stored::Stored;
use crate::compare::traced::{Given, Line, TensorKind, TensorSource};
use crate::error::Error;
use crate::model::program::Program;
use crate::model::source::Source;

/// Side with its description.
pub(super) struct OpenedSide {
    pub side: TensorSource,
    pub report: SideReport,
    /// Path of its model, if the name contains it.
    pub model: Option<String>,
}

/// Side, with notes.
type NotedSide = (TensorSource, Vec<String>);

/// Opens both sides; also returns notes.
///
/// # Errors
///
/// Fails as [`diff_values`](super::diff_values) does.
pub(super) fn open(
    request: &Request,
    named: &[Named; 2],
    context: Context<'_>,
) -> Result<([OpenedSide; 2], Vec<String>), Error> {
    let opening = Opening { request, named, context };
    // Programs first: other sides take names and shapes from them.
    let [before, after] = [opening.program(0)?, opening.program(1)?];
    let (before, after) = match (before, after) {
        (Some(before), Some(after)) => (before, after),
        (Some(before), None) => {
            let after = opening.other(1, Some(&before.0))?;
            (before, after)
        }
        (None, Some(after)) => (opening.other(0, Some(&after.0))?, after),
        // An array without a name takes the name from the other side.
        (None, None) if matches!(named[0], Named::Array { name: None, .. }) => {
            let after = opening.other(1, None)?;
            (opening.other(0, Some(&after.0))?, after)
        }
        (None, None) => {
            let before = opening.other(0, None)?;
            let after = opening.other(1, Some(&before.0))?;
            (before, after)
        }
    };
    let notes = before.1.into_iter().chain(after.1).collect();
    Ok(([opening.opened(0, before.0), opening.opened(1, after.0)], notes))
}

/// Name of two arrays that both have none.
const UNNAMED: &str = "array";

struct Opening<'a> {
    request: &'a Request,
    named: &'a [Named; 2],
    context: Context<'a>,
}

impl Opening<'_> {
    fn given(&self) -> Given<'_> {
        Given { inputs: &self.request.inputs, preprocess: &self.request.preprocess }
    }

    fn opened(&self, place: usize, side: TensorSource) -> OpenedSide {
        let target = match &side {
            TensorSource::Machine(machine) => Some(machine.compiled().report().target),
            TensorSource::Float(_) | TensorSource::Stored(_) => None,
        };
        let name = [&self.request.before, &self.request.after][place].clone();
        let report = SideReport { name, kind: self.named[place].kind().to_owned(), target };
        OpenedSide { side, report, model: self.model_of(place) }
    }

    /// Returns the model of a side; for an artifact, the named one or the other side's.
    fn model_of(&self, place: usize) -> Option<String> {
        let model = match &self.named[place] {
            Named::Artifact(_) => self.request.model.as_deref().or_else(|| self.named[1 - place].model()),
            named => named.model(),
        };
        model.map(str::to_owned)
    }

    /// Returns the options for reading and lowering a model.
    fn source(&self, model: &str, target: Option<&str>) -> Source {
        let target = target.map(str::to_owned);
        Source { path: model.to_owned(), target, ..self.request.source.clone() }
    }

    /// Opens a compiled model or an artifact, if the side is one.
    fn program(&self, place: usize) -> Result<Option<NotedSide>, Error> {
        let (given, context) = (self.given(), self.context);
        let found = match &self.named[place] {
            Named::Compiled { model, target } => {
                open::machine(&self.source(model, Some(target)), given, context)?
            }
            Named::Artifact(path) => match self.model_of(place) {
                Some(model) => open::artifact(path, &self.source(&model, None), given, context)?,
                None => open::machine(&Source::artifact(path), given, context)?,
            },
            Named::Model(_) | Named::Archive(_) | Named::Array { .. } | Named::Image { .. } => {
                return Ok(None);
            }
        };
        Ok(Some((TensorSource::Machine(found.0), found.1)))
    }

    /// Opens a side that is not a program; `beside` is the other side, if it was opened before.
    fn other(&self, place: usize, beside: Option<&TensorSource>) -> Result<NotedSide, Error> {
        let machine = match beside {
            Some(TensorSource::Machine(machine)) => Some(&**machine),
            _ => None,
        };
        let reader = self.context.reader;
        match &self.named[place] {
            Named::Image { memory, path } => {
                let side = match machine {
                    Some(machine) => Stored::image(memory, path, machine.compiled(), reader)?,
                    None => Stored::image(memory, path, self.of_memory(place)?.compiled(), reader)?,
                };
                Ok((TensorSource::Stored(side), Vec::new()))
            }
            Named::Archive(path) => Ok((TensorSource::Stored(Stored::archive(path, reader)?), Vec::new())),
            Named::Array { name, path } => {
                let name = match (name, beside) {
                    (Some(name), _) => name.as_str(),
                    (None, Some(beside)) => self.only_output(place, beside)?,
                    (None, None) => UNNAMED,
                };
                Ok((TensorSource::Stored(Stored::array(name, path, reader)?), Vec::new()))
            }
            Named::Model(path) => self.float(path, 1 - place, machine),
            // Programs were opened before.
            Named::Compiled { .. } | Named::Artifact(_) => {
                Err(self.without_values(place, "it has no values"))
            }
        }
    }

    /// Returns the name of the only output of the side next to `place`, or of its only array.
    fn only_output<'s>(&self, place: usize, beside: &'s TensorSource) -> Result<&'s str, Error> {
        let is_stored = matches!(beside, TensorSource::Stored(_));
        let is_output = |line: &&Line| is_stored || line.kind == TensorKind::Output;
        let outputs: Vec<&Line> = beside.lines().iter().filter(is_output).collect();
        match outputs[..] {
            [only] => Ok(&only.name),
            _ => {
                let count = outputs.len();
                let reason =
                    format!("its array has no name, and the other side has {count} outputs: give an `.npz`");
                Err(self.without_values(place, &reason))
            }
        }
    }

    /// Opens a model in float. For a program compiled from it, uses the graph that has the results
    /// of all its layers.
    fn float(&self, path: &str, beside: usize, machine: Option<&Machine>) -> Result<NotedSide, Error> {
        let is_its = self.model_of(beside).as_deref() == Some(path);
        match machine.filter(|_| is_its).and_then(|machine| Some((machine, machine.layers.as_ref()?))) {
            Some((machine, layers)) => {
                let float =
                    Float::beside(layers.graph(), &layers.shown, &machine.model_samples, machine.lines());
                Ok((TensorSource::Float(Box::new(float)), Vec::new()))
            }
            None => open::float(&self.source(path, None), self.given(), true, self.context),
        }
    }

    /// Opens the program to which a memory image belongs, if the other side is not a program.
    fn of_memory(&self, place: usize) -> Result<Program, Error> {
        let message = "the program that the memory belongs to is unknown: give an artifact or MODEL@TARGET with `--program`";
        let Some(program) = &self.request.program else { return Err(self.without_values(place, message)) };
        match Named::parse(program) {
            Some(Named::Artifact(path)) => Source::artifact(path).program(self.context),
            Some(Named::Compiled { model, target }) => {
                self.source(&model, Some(&target)).program_for(&self.request.inputs, self.context)
            }
            _ => Err(self.without_values(place, message)),
        }
    }

    fn without_values(&self, place: usize, reason: &str) -> Error {
        let given = [&self.request.before, &self.request.after][place].clone();
        Error::NotComparable { given, reason: reason.to_owned() }
    }
}
