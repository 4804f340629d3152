//! [`Session`]: answers of a device with a language model to commands. No published hardware
//! decodes them; the expected order of commands is that of the runtime that sends them
//! (`SOURCES.md`).

use npukit_graph::decoder::likeliest;
use npukit_target::sim::garbage;
use npukit_target::{Generator, HostAnswer};
use thiserror::Error;

use super::{Command, Status};

/// Reason why the device rejects a command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// The word is not a command.
    #[error("not a command: opcodes are 1 to 4, and bits outside the command's fields must be 0")]
    None,
    /// The weights belong to another model.
    #[error("manifest {found:#010x} is not the model's: the CRC-32 of its description is {expected:#010x}")]
    Manifest {
        /// CRC-32 in the command.
        found: u32,
        /// CRC-32 of the model's description.
        expected: u32,
    },
    /// A token of the prompt has the wrong position.
    #[error("position {found} is out of order: the next position is {expected}")]
    Position {
        /// Position in the command.
        found: u32,
        /// Number of tokens before it.
        expected: u32,
    },
    /// A token is requested before any prompt.
    #[error("no token to continue from: send LOAD_PROMPT first")]
    NoPrompt,
    /// The sampling method does not exist.
    #[error("sampling is {found}: legal are 0 (most likely) and 1 (random)")]
    Sampling {
        /// Value of `sampling` in the command.
        found: u8,
    },
    /// A sampling parameter is 0.
    #[error("`{what}` is 0 with random sampling: legal are 1 to 65535, in 256ths")]
    Draw {
        /// Name of the parameter: temperature or top_p.
        what: &'static str,
    },
    /// The machine failed, with this message.
    #[error("{0}")]
    Machine(String),
}

/// Language model within a text, and the tokens that it has not processed yet.
pub struct Session<'a> {
    generator: &'a mut Generator,
    manifest: u32,
    pending: Vec<usize>,
    /// Number of tokens in the text.
    position: u32,
}

impl<'a> Session<'a> {
    /// Starts a text with the model that `description` describes.
    pub fn new(generator: &'a mut Generator, description: &[u8]) -> Self {
        generator.reset();
        Self { generator, manifest: crc32(description), pending: Vec::new(), position: 0 }
    }

    /// Answers a command word.
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
                // The cast loses nothing: a vocabulary has fewer than 2^32 tokens.
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

/// State of random sampling.
#[derive(Clone, Copy, Debug)]
struct Draw {
    seed: u64,
    temperature: f64,
    share: f64,
}

impl Draw {
    /// Returns a sampler seeded with the request number.
    fn new(request: u16, temperature: u16, share: u16) -> Result<Self, CommandError> {
        for (value, what) in [(temperature, "temperature"), (share, "top_p")] {
            if value == 0 {
                return Err(CommandError::Draw { what });
            }
        }
        let [temperature, share] = [temperature, share].map(|value| f64::from(value) / 256.0);
        Ok(Self { seed: request.into(), temperature, share })
    }

    /// Samples from the smallest set of most likely tokens that together reach the share.
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
        // A fraction of 53 random bits is a number in [0, 1).
        let mut left = (garbage(self.seed)() >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        let chosen = likely.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Default: the last token after rounding; the first token without logits.
        chosen.or(likely.last()).map_or(0, |(token, _)| *token)
    }
}

/// Returns the CRC-32 (as in Ethernet and zip) with which the runtime identifies a manifest.
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

    /// Compares with the check value of the published catalog of checksums.
    #[test]
    fn the_checksum_is_the_common_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    /// With probabilities of 8, 4, 2, 1 and 1 sixteenths, three quarters are the first two tokens;
    /// at the highest temperature all are equally likely.
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
