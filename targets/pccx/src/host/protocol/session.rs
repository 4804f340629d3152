//! [`Session`]: what a device that keeps a language model answers to commands. Nothing published decodes them; the order
//! that is asked for here is that of the runtime which sends them (`SOURCES.md`).

use npukit_graph::decoder::likeliest;
use npukit_target::sim::garbage;
use npukit_target::{Generator, HostAnswer};
use thiserror::Error;

use super::{Command, Status};

/// What a command gets wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// A word that is no command.
    #[error("no command: opcodes are 1 to 4, and bits that a command does not have are 0")]
    None,
    /// Other weights than the model's.
    #[error("manifest {found:#010x} is not the model's: the CRC-32 of its description is {expected:#010x}")]
    Manifest {
        /// As the command says.
        found: u32,
        /// The model's.
        expected: u32,
    },
    /// A token out of its turn.
    #[error("position {found} is out of turn: the next is {expected}")]
    Position {
        /// As the command says.
        found: u32,
        /// Tokens before it.
        expected: u32,
    },
    /// Nothing to go on from.
    #[error("there is no token to go on from: LOAD_PROMPT gives one")]
    NoPrompt,
    /// A way of choosing that there is none of.
    #[error("sampling is {found}: legal are 0 (the likeliest) and 1 (at random)")]
    Sampling {
        /// As the command says.
        found: u8,
    },
    /// Nothing to draw from.
    #[error("`{what}` is 0 in a draw at random: legal are 1 to 65535, in 256ths")]
    Draw {
        /// Temperature or share.
        what: &'static str,
    },
    /// What the machine says.
    #[error("{0}")]
    Machine(String),
}

/// A model in the middle of a text, and the tokens that it has not taken yet.
pub struct Session<'a> {
    generator: &'a mut Generator,
    manifest: u32,
    pending: Vec<usize>,
    /// Tokens of the text.
    position: u32,
}

impl<'a> Session<'a> {
    /// At the beginning of a text, with the model that `description` describes.
    pub fn new(generator: &'a mut Generator, description: &[u8]) -> Self {
        generator.reset();
        Self { generator, manifest: crc32(description), pending: Vec::new(), position: 0 }
    }

    /// What the device answers to a word.
    pub fn answer(&mut self, word: u64, command: String) -> HostAnswer {
        let result = Command::decode(word).ok_or(CommandError::None).and_then(|command| self.obey(command));
        let (status, error, cycles) = match result {
            Ok((token, cycles)) => (Status { done: true, token, ..Status::default() }, None, cycles),
            Err(error) => (Status { error: true, ..Status::default() }, Some(error.to_string()), None),
        };
        let word = format!("{:#018x}", status.encode());
        HostAnswer { command, status: word, text: status.text(), token: status.token, error, cycles }
    }

    fn obey(&mut self, command: Command) -> Result<(Option<u32>, Option<u64>), CommandError> {
        match command {
            Command::ResetKvCache { .. } => {
                self.generator.reset();
                self.pending.clear();
                self.position = 0;
                Ok((None, None))
            }
            Command::LoadWeight { manifest_id, .. } if manifest_id != self.manifest => {
                Err(CommandError::Manifest { found: manifest_id, expected: self.manifest })
            }
            Command::LoadWeight { .. } => Ok((None, None)),
            Command::LoadPrompt { position, token_id } => {
                if position != self.position {
                    return Err(CommandError::Position { found: position, expected: self.position });
                }
                self.push(token_id);
                Ok((None, None))
            }
            Command::NextToken { request_id, sampling, temperature_q8_8, top_p_q8_8 } => {
                let draw = match sampling {
                    0 => None,
                    1 => Some(Draw::new(request_id, temperature_q8_8, top_p_q8_8)?),
                    found => return Err(CommandError::Sampling { found }),
                };
                if self.pending.is_empty() {
                    return Err(CommandError::NoPrompt);
                }
                let step = self.generator.take(&self.pending);
                let step = step.map_err(|error| CommandError::Machine(error.to_string()))?;
                self.pending.clear();
                let token = draw.map_or_else(|| likeliest(&step.logits), |draw| draw.token(&step.logits));
                // A vocabulary has fewer tokens than 32 bits count.
                let token = token as u32;
                self.push(token);
                Ok((Some(token), step.cycles))
            }
        }
    }

    fn push(&mut self, token: u32) {
        self.pending.push(token as usize);
        self.position += 1;
    }
}

/// A draw at random.
#[derive(Clone, Copy, Debug)]
struct Draw {
    seed: u64,
    temperature: f64,
    share: f64,
}

impl Draw {
    /// One that follows from the number of the request.
    fn new(request: u16, temperature: u16, share: u16) -> Result<Self, CommandError> {
        for (value, what) in [(temperature, "temperature"), (share, "top_p")] {
            if value == 0 {
                return Err(CommandError::Draw { what });
            }
        }
        let [temperature, share] = [temperature, share].map(|value| f64::from(value) / 256.0);
        Ok(Self { seed: request.into(), temperature, share })
    }

    /// One of the likeliest tokens that have this share of all likelihood together, the last of them whole.
    fn token(self, logits: &[f32]) -> usize {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |&logit: &f32| (f64::from(logit - largest) / self.temperature).exp();
        let mut all: Vec<(usize, f64)> = logits.iter().map(weight).enumerate().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        let mut kept = 0.0;
        let likely = all.iter().take_while(|(_, weight)| {
            let is_within = kept < self.share * total;
            kept += weight;
            is_within
        });
        let likely: Vec<(usize, f64)> = likely.copied().collect();
        let sum: f64 = likely.iter().map(|(_, weight)| weight).sum();
        // 53 bits of a number from 0 on, below 1.
        let mut left = (garbage(self.seed)() >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        let chosen = likely.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Default: rounding leaves the last one; without logits there is no token but the first.
        chosen.or(likely.last()).map_or(0, |(token, _)| *token)
    }
}

/// The checksum of a text by which the runtime names a manifest: that of Ethernet and zip.
pub fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let byte = |crc: u32, &byte: &u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ (POLYNOMIAL * (crc & 1)))
    };
    !bytes.iter().fold(u32::MAX, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the published catalogue of checksums.
    #[test]
    fn the_checksum_is_the_common_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    /// Of likelihoods 8, 4, 2, 1, 1 of 16 three quarters are the first two; at the hottest all are drawn alike.
    #[test]
    fn draws_are_from_the_likeliest() {
        let logits: Vec<f32> = [2.0_f32, 8.0, 1.0, 4.0, 1.0].map(f32::ln).to_vec();
        let drawn = |temperature, share| {
            let mut times = [0; 5];
            for request in 0..4000 {
                let draw = Draw { seed: request, temperature, share };
                times[draw.token(&logits)] += 1;
            }
            times
        };
        let [none, first, _, second, _] = drawn(1.0, 0.75);
        assert_eq!((none, first + second), (0, 4000));
        assert!((2500..2833).contains(&first), "two thirds of 4000: {first}");
        let all = drawn(1.0, 1.0);
        for (times, share) in all.into_iter().zip([2.0, 8.0, 1.0, 4.0, 1.0]) {
            assert!((f64::from(times) - 250.0 * share).abs() < 130.0, "{all:?}");
        }
        assert_eq!(drawn(0.001, 1.0), [0, 4000, 0, 0, 0]);
    }
}
