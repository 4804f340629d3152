//! What an instruction says that hardware would not do as said, though the machine can: [`warnings`].

use crate::codec::{Codec, INSTRUCTION_BYTES};
use crate::config::Config;
use crate::op::{Cvo, CvoFunc, Device, Mac, Memcpy, Op};

/// Elements that the unit of special functions takes in one instruction (specification 4.6.1).
pub const CVO_HARDWARE_LENGTH: u16 = 2048;

/// A sentence for every instruction of a program that hardware would do otherwise.
pub fn warnings(config: &Config, codec: &Codec, bytes: &[u8]) -> Vec<String> {
    let (words, _) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    let one = |(index, word): (usize, &[u8; INSTRUCTION_BYTES])| {
        let op = codec.assigned(u64::from_le_bytes(*word)).ok()?;
        Some(format!("instruction {index}: {}", warning(config, &op)?))
    };
    words.iter().enumerate().filter_map(one).collect()
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
