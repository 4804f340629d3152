//! Hazards and errors that the machine tolerates but hardware does not: [`findings`] of a program,
//! [`word_findings`] of words, and [`program_warnings`] as sentences. `SOURCES.md` lists the orders
//! that are checked.

pub(crate) mod lints;
mod unfenced;
mod unread;
mod unwritten;

use npukit_target::{Finding, Lint, Severity};

pub use unfenced::{Orders, Unfenced, unfenced};
use unread::unread;
pub(crate) use unwritten::WrittenData;
pub use unwritten::{Filled, Missing, Unwritten, unwritten, unwritten_in_words};

use crate::check::lints::{
    HOST_TO_HOST, IGNORED_FLAG, LONG_FUNCTION, RESERVED_BITS, RESERVED_CVO_FUNC, RESERVED_DEST_CACHE,
    RESERVED_OPCODE, TOO_MANY_LANES, UNFENCED_ACCESS,
};
use crate::config::{Config, Profile};
use crate::isa::codec::{Codec, DecodeError};
use crate::isa::op::{CVO_HARDWARE_LENGTH, Cvo, CvoFunc, Device, INSTRUCTION_BYTES, Mac, Memcpy, Op};
use crate::program::Program;
use crate::program::host::Host;

/// Maximum number of sentences about one program; further findings are only counted.
const MAX_WARNINGS: usize = 50;

/// Returns all findings of a program, in instruction order: illegal instructions, hazards with
/// asynchronous instructions, and uses of data that was never written.
pub fn findings(config: &Config, program: &Program, host: &Host) -> Vec<Finding> {
    let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
    let mut found = of_ops(config, &program.code, &syncs);
    if config.profile == Profile::Reference {
        let missing = unwritten(config.l2_words, program, host);
        found.extend(missing.iter().map(|missing| of_unwritten(missing, Severity::Error)));
    }
    found.extend(unread(&program.code, &[], true));
    let layers = &host.layers;
    for finding in &mut found {
        let index = finding.instruction.unwrap_or(program.code.len());
        let layer = layers.get(layers.partition_point(|layer| layer.end as usize <= index));
        finding.layer = layer.map(|layer| layer.name.clone());
    }
    sorted(found)
}

/// Returns the findings of instruction words. Earlier words may precede them, so a use of data that
/// these words never write is only a warning.
///
/// # Errors
/// [`DecodeError::Truncated`] if the last instruction is incomplete. Invalid words are findings.
pub fn word_findings(config: &Config, bytes: &[u8]) -> Result<Vec<Finding>, DecodeError> {
    text_findings(config, bytes, &[], &Filled::default())
}

/// Returns the findings of an assembled text. Its host waits before some instructions and fills
/// memories at the start.
///
/// # Errors
/// The errors of [`word_findings`].
pub fn text_findings(
    config: &Config,
    bytes: &[u8],
    host_syncs: &[u32],
    filled: &Filled,
) -> Result<Vec<Finding>, DecodeError> {
    let codec = Codec::new(config);
    let (words, rest) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    if !rest.is_empty() {
        return Err(DecodeError::Truncated { have: rest.len() });
    }
    let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    let ops: Vec<Op> = words.iter().map(|&word| op(&codec, word)).collect();
    let mut found = asm_findings(config, &ops, host_syncs, filled);
    let wrong = |(index, &word): (usize, &u64)| of_word(config, index, &codec.decode(word).err()?);
    found.extend(words.iter().enumerate().filter_map(wrong));
    Ok(sorted(found))
}

/// Returns the findings of an assembly program. Its host waits before some instructions and fills
/// memories at the start.
pub fn asm_findings(config: &Config, ops: &[Op], host_syncs: &[u32], filled: &Filled) -> Vec<Finding> {
    let mut found = of_ops(config, ops, host_syncs);
    found.extend(unread(ops, &filled.looked_at, filled.is_all));
    if config.profile == Profile::Reference {
        let missing = unwritten_in_words(config.l2_words, ops, filled);
        found.extend(missing.iter().map(|missing| of_unwritten(missing, Severity::Warning)));
    }
    sorted(found)
}

/// Returns a sentence for each finding of a compiled program, where each host operation waits for
/// all earlier instructions.
pub fn program_warnings(config: &Config, program: &Program) -> Vec<String> {
    let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
    sentences(&sorted(of_ops(config, &program.code, &syncs)))
}

fn op(codec: &Codec, word: u64) -> Op {
    codec.assigned(word).unwrap_or(Op::Dropped(word))
}

fn sorted(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|finding| finding.instruction.unwrap_or(usize::MAX));
    found
}

fn sentences(found: &[Finding]) -> Vec<String> {
    let sentence = |finding: &Finding| match finding.instruction {
        Some(index) => format!("instruction {index}: {}", finding.message),
        None => finding.message.clone(),
    };
    let mut sentences: Vec<String> = found.iter().take(MAX_WARNINGS).map(sentence).collect();
    if let more @ 1.. = found.len().saturating_sub(MAX_WARNINGS) {
        sentences.push(format!("and {more} more"));
    }
    sentences
}

fn finding(lint: &'static Lint, severity: Severity, index: usize, message: String) -> Finding {
    Finding::new(lint, severity, Some(index), message)
}

/// Returns findings about single instructions, hazards, and unused results.
fn of_ops(config: &Config, ops: &[Op], host_syncs: &[u32]) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        ops.iter().enumerate().filter_map(|(index, op)| alone(config, index, op)).collect();
    let unfenced = unfenced(ops, host_syncs);
    found.extend(
        unfenced
            .iter()
            .map(|unfenced| finding(UNFENCED_ACCESS, Severity::Error, unfenced.index, unfenced.to_string())),
    );
    found
}

fn of_unwritten(unwritten: &Unwritten, severity: Severity) -> Finding {
    Finding::new(unwritten.missing.lint(), severity, unwritten.index, unwritten.to_string())
}

/// Returns the finding about an invalid word or set reserved bits. A strict instance refuses the
/// word; others drop it or ignore the bits.
fn of_word(config: &Config, index: usize, error: &DecodeError) -> Option<Finding> {
    let lint = match error {
        DecodeError::ReservedOpcode { .. } => RESERVED_OPCODE,
        DecodeError::ReservedDestCache { .. } => RESERVED_DEST_CACHE,
        DecodeError::ReservedCvoFunc { .. } => RESERVED_CVO_FUNC,
        DecodeError::ReservedBits { .. } => RESERVED_BITS,
        DecodeError::Truncated { .. } => return None,
    };
    let severity = if config.strict { Severity::Error } else { Severity::Warning };
    Some(finding(lint, severity, index, error.to_string()))
}

fn alone(config: &Config, index: usize, op: &Op) -> Option<Finding> {
    let (lint, severity, message) = match op {
        Op::Gemv(mac) => (TOO_MANY_LANES, Severity::Warning, lanes(config, mac)?),
        Op::Memcpy(Memcpy { from_device: Device::Host, to_device: Device::Host, .. }) => {
            let message = "MEMCPY from host to host is refused by the machine".to_owned();
            (HOST_TO_HOST, Severity::Error, message)
        }
        Op::Cvo(cvo) => function(cvo)?,
        _ => return None,
    };
    Some(finding(lint, severity, index, message))
}

fn lanes(config: &Config, mac: &Mac) -> Option<String> {
    let (asked, lanes) = (u64::from(mac.parallel_lane), config.timing.gemv.lanes);
    (asked > lanes && !config.lane_mask).then(|| format!("GEMV asks for {asked} lanes: there are {lanes}"))
}

fn function(cvo: &Cvo) -> Option<(&'static Lint, Severity, String)> {
    if cvo.length > CVO_HARDWARE_LENGTH {
        let message = format!(
            "CVO has {} elements, but hardware supports at most {CVO_HARDWARE_LENGTH}: split the instruction",
            cvo.length
        );
        return Some((LONG_FUNCTION, Severity::Error, message));
    }
    let ignored = cvo.flags.recip_scale && cvo.cvo_func != CvoFunc::Scale;
    let message = || format!("recip_scale is only for scale: {} ignores it", cvo.cvo_func.name());
    ignored.then(|| (IGNORED_FLAG, Severity::Warning, message()))
}
