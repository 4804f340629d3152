//! [`Draft`]: a smaller model that proposes tokens. The model in use checks all of them at once,
//! which costs little more than one token, and keeps the tokens that it would have chosen.

use npukit_graph::language::Sampler;
use npukit_target::{Generator, Reader, Step, added_cycles};
use serde::Serialize;

use super::Request;
use super::language::Language;
use crate::error::Error;

/// Usual number of tokens that are proposed at once.
const USUAL_PROPOSALS: usize = 4;

/// Smaller model in use.
pub(super) struct Draft {
    name: String,
    generator: Generator,
    /// Maximum number of tokens that it can take.
    capacity: usize,
    /// Number of tokens to propose at once.
    count: usize,
}

/// Use of a smaller model for a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Drafted {
    /// Name of the smaller model.
    pub model: String,
    /// Number of tokens that it proposed.
    pub proposed: usize,
    /// Number of proposed tokens that the model chose, too.
    pub accepted: usize,
    /// Cycles of the machine for the smaller model, which are a part of all cycles.
    pub cycles: Option<u64>,
}

impl Draft {
    /// Opens the smaller model of a request for texts of `language` of at most `capacity` tokens.
    pub(super) fn open(
        request: &Request,
        language: &Language,
        capacity: usize,
        reader: &dyn Reader,
    ) -> Result<Option<Self>, Error> {
        let Some(path) = &request.draft else { return Ok(None) };
        let mut draft = Language::load(Some(path), reader)?;
        language.check_tokens_of(&draft, path)?;
        let capacity = capacity.min(draft.limit());
        let generator = draft.last_generator(request, capacity, reader)?;
        let count = request.proposals.unwrap_or(USUAL_PROPOSALS);
        Ok(Some(Self { name: draft.name().to_owned(), generator, capacity, count }))
    }

    /// Returns the use of this model before the first proposal.
    pub(super) fn unused(&self) -> Drafted {
        let cycles = self.generator.clock_mhz.map(|_| 0);
        Drafted { model: self.name.clone(), proposed: 0, accepted: 0, cycles }
    }

    /// Returns at most `most` tokens that may follow a text, and the cycles that they took.
    /// `sampler` is the text's own, so that equal logits lead to equal tokens.
    pub(super) fn propose(
        &mut self,
        text: &[usize],
        mut sampler: Sampler,
        most: usize,
    ) -> Result<(Vec<usize>, Option<u64>), Error> {
        let mut tokens = text.to_vec();
        // The last proposed token is not processed.
        let room = (self.capacity + 1).saturating_sub(text.len());
        let end = text.len() + most.min(room).min(self.count);
        let mut cycles = self.generator.clock_mhz.map(|_| 0);
        while tokens.len() < end {
            let (_, Step { logits, cycles: more, .. }) = follow(&mut self.generator, &tokens)?;
            cycles = added_cycles(cycles, more);
            tokens.push(sampler.choose(&logits, &tokens));
        }
        Ok((tokens.split_off(text.len()), cycles))
    }
}

/// Processes the tokens of a text that a generator does not have yet. Returns the number of tokens
/// that were processed before, and the logits of the next token.
pub(super) fn follow(generator: &mut Generator, text: &[usize]) -> Result<(usize, Step), Error> {
    let common = common(generator, text);
    let reused = generator.keep(common);
    Ok((reused, generator.take(&text[common..])?))
}

/// Returns the number of tokens that a generator's text has in common with the begin of another
/// one, except the last token of that text, whose logits are not stored.
pub(super) fn common(generator: &Generator, text: &[usize]) -> usize {
    let pairs = generator.text().iter().zip(text);
    let most = text.len().saturating_sub(1);
    pairs.take_while(|(one, other)| one == other).count().min(most)
}
