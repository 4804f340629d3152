//! [`LanguageNetwork`]: a language model of an exploration, timed from its shapes.

use std::sync::Arc;

use npukit_graph::language::Model;
use npukit_import::llm::Layout;
use npukit_target::{Instance, LanguagePoint, LanguageTimeOptions, TargetError};

use super::{ModelPoint, Planned, Request};
use crate::Context;
use crate::error::Error;
use crate::model::language::{USUAL_CONTEXT, graph_options, shapes};
use crate::verbs::time::language::timed;

/// Language model that is read once for all points. The last token of a text is timed.
pub(super) struct LanguageNetwork {
    path: String,
    model: Arc<Model>,
}

impl LanguageNetwork {
    /// Reads the shapes of the model at `path`, whose files are at `place`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Checkpoint`] for a model that is not valid or not supported, and
    /// [`Error::Inapplicable`] for options that only apply to another kind of model.
    pub(super) fn read(
        path: &str,
        (place, layout): (&str, Layout),
        request: &Request,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let others = [
            ("--input", !request.inputs.is_empty()),
            ("--calibrate", !request.calibration.inputs.is_empty()),
            ("--halve", request.halve),
        ];
        let mut given = graph_options(&request.model).into_iter().chain(others);
        if let Some((option, _)) = given.find(|(_, given)| *given) {
            let (path, option) = (path.to_owned(), option.to_owned());
            return Err(Error::Inapplicable { path, option, found: "a language model" });
        }
        Ok(Self { path: path.to_owned(), model: shapes(place, layout, false, context.reader)? })
    }

    /// Times the last token of texts on an instance.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Target`] if the target does not support language models, and for texts that
    /// are too long for the instance.
    pub(super) fn measured(
        &self,
        request: &Request,
        planned: &Planned,
        instance: &dyn Instance,
    ) -> Result<ModelPoint, Error> {
        let options = LanguageTimeOptions {
            contexts: vec![request.context.unwrap_or(USUAL_CONTEXT)],
            batches: vec![request.model.batch.unwrap_or(1)],
            options: planned.options.clone(),
        };
        let decode = match timed(instance, &self.model, &options)?.points.into_iter().next() {
            Some(LanguagePoint { decode: Some(decode), .. }) => decode,
            Some(LanguagePoint { refused: Some(reason), .. }) => {
                return Err(TargetError::Failed(reason.into()).into());
            }
            _ => {
                return Err(
                    TargetError::Failed("the target neither timed nor refused the texts".into()).into()
                );
            }
        };
        Ok(ModelPoint {
            model: self.path.clone(),
            name: self.model.description().name.clone(),
            layers: self.model.description().layers.len(),
            instructions: decode.instructions as usize,
            cycles: Some(decode.cycles),
            milliseconds: Some(decode.milliseconds),
            frames_per_second: Some(decode.tokens_per_second),
            ..ModelPoint::default()
        })
    }
}
