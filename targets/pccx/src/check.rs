//! What hardware would not do as a program says, though the machine does: [`warnings`].

mod unfenced;

pub use unfenced::{Unfenced, unfenced};

use crate::codec::{Codec, INSTRUCTION_BYTES};
use crate::config::Config;
use crate::op::{Cvo, CvoFunc, Device, Mac, Memcpy, Op};
use crate::program::Program;

/// Elements that the unit of special functions takes in one instruction (specification 4.6.1).
pub const CVO_HARDWARE_LENGTH: u16 = 2048;
/// Sentences about one program; more are counted only.
const MOST_WARNINGS: usize = 50;

/// A sentence for every instruction of assembled words that hardware would do otherwise.
pub fn warnings(config: &Config, codec: &Codec, bytes: &[u8]) -> Vec<String> {
    let (words, _) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    let ops: Vec<Op> = words.iter().map(|word| op(codec, u64::from_le_bytes(*word))).collect();
    of_ops(config, &ops, &[])
}

/// The same of a program, whose host operations wait for everything before them.
pub fn program_warnings(config: &Config, program: &Program) -> Vec<String> {
    let syncs: Vec<u32> = program.host_ops.iter().map(|op| op.position).collect();
    of_ops(config, &program.code, &syncs)
}

fn op(codec: &Codec, word: u64) -> Op {
    codec.assigned(word).unwrap_or(Op::Dropped(word))
}

/// In the order of instructions.
fn of_ops(config: &Config, ops: &[Op], host_syncs: &[u32]) -> Vec<String> {
    let alone =
        |(index, op): (usize, &Op)| Some((index, format!("instruction {index}: {}", warning(config, op)?)));
    let mut found: Vec<(usize, String)> = ops.iter().enumerate().filter_map(alone).collect();
    found.extend(unfenced(ops, host_syncs).iter().map(|unfenced| (unfenced.index, unfenced.to_string())));
    found.sort_by_key(|(index, _)| *index);
    let more = found.len().saturating_sub(MOST_WARNINGS);
    let mut sentences: Vec<String> =
        found.into_iter().take(MOST_WARNINGS).map(|(_, sentence)| sentence).collect();
    if more > 0 {
        sentences.push(format!("and {more} more"));
    }
    sentences
}

fn warning(config: &Config, op: &Op) -> Option<String> {
    match op {
        Op::Gemv(mac) => lanes(config, mac),
        Op::Memcpy(Memcpy { from_device: Device::Host, to_device: Device::Host, .. }) => {
            Some("MEMCPY from host to host is refused by the machine".to_owned())
        }
        Op::Cvo(cvo) => function(cvo),
        _ => None,
    }
}

fn lanes(config: &Config, mac: &Mac) -> Option<String> {
    let (asked, lanes) = (u64::from(mac.parallel_lane), config.timing.gemv.lanes);
    (asked > lanes && !config.lane_mask).then(|| format!("GEMV asks for {asked} lanes: there are {lanes}"))
}

fn function(cvo: &Cvo) -> Option<String> {
    if cvo.length > CVO_HARDWARE_LENGTH {
        return Some(format!(
            "CVO takes {} elements: hardware takes {CVO_HARDWARE_LENGTH} at most, split it",
            cvo.length
        ));
    }
    let ignored = cvo.flags.recip_scale && cvo.cvo_func != CvoFunc::Scale;
    ignored.then(|| format!("recip_scale is for scale: {} ignores it", cvo.cvo_func.name()))
}
