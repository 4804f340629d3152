//! [`accesses`]: register accesses of a driver that runs a program: commands to the data movers,
//! instruction words, and reads that detect completion. Source: specification 3.6, 4.3 and 4.4.4.

use std::collections::{BTreeMap, VecDeque};

use npukit_asm::Experiment;
use npukit_target::{HostAccess, HostCompletion, HostPlace, HostRun, Stopped, TargetError};
use thiserror::Error;

use super::data_mover;
use super::map::{BASE, COMMAND, KICK, Stream};
use crate::check::Orders;
use crate::clock;
use crate::config::{Config, WORD_BYTES};
use crate::host::asm_run::{AsmRunError, products, window_name, windows};
use crate::isa::codec::{Codec, EncodeError, KICK_MARKER};
use crate::isa::fault::Direction;
use crate::isa::op::{Banks, Device, Engine, Memcpy, Op};
use crate::isa::usage::words_of;
use crate::machine::weights::WeightImage;

/// Capacity of a data mover's command queue and status queue.
const QUEUE: usize = 8;
/// Bytes of the largest command of whole units: its field has 23 bits.
const MAX_BYTES: u64 = ((1 << 23) - 1) / 16 * 16;
/// Alignment of buffers in host memory.
const PAGE: u64 = 4096;
/// Expected status of a mover: okay, and no error. The tag is ignored, as documents disagree on its
/// bits.
const OKAY: (&str, &str) = ("0x80", "0xf0");
/// Value and mask of DONE in the accelerator's status.
const DONE: (&str, &str) = ("0x0000000000000002", "0x0000000000000002");

/// Reason why a program's accesses cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccessesError {
    /// Host memory exceeds the address range of the movers.
    #[error("host memory of the program ends at {end:#x}: addresses of the data movers have 32 bits")]
    Address {
        /// Address after the last byte.
        end: u64,
    },
    /// An instruction cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Returns the accesses for a program whose host waits before some instructions, and whose host
/// memory begins at `base`.
///
/// # Errors
/// An instruction with a hazard; host memory outside the address range of the movers.
pub fn accesses(config: &Config, ops: &[Op], experiment: &Experiment, base: u64) -> Result<HostRun, Stopped> {
    let mut driver = Driver::new(config, ops, base)?;
    let mut orders = Orders::default();
    for (index, op) in ops.iter().enumerate() {
        if experiment.is_wait(index) {
            orders.host_waits();
            driver.wait();
        }
        if let Some(order) = orders.issue(index, op) {
            let error = TargetError::failed(AsmRunError::Order { order, place: None });
            return Err(Stopped { instruction: Some(index), error });
        }
        let failed =
            |error: AccessesError| Stopped { instruction: Some(index), error: TargetError::failed(error) };
        driver.instruction(index, op).map_err(failed)?;
    }
    driver.wait();
    driver.write(None, KICK, 64, KICK_MARKER, "ends the batch".to_owned());
    let syncs: Vec<usize> = experiment.waits.iter().map(|wait| wait.position).collect();
    let timeline = clock::run_with_host(config, ops, &syncs);
    for (completion, span) in driver.run.completions.iter_mut().zip(&timeline.spans) {
        (completion.start, completion.end) = (span.start, span.end);
    }
    driver.run.cycles = Some(timeline.cycles);
    Ok(driver.run)
}

struct Driver {
    codec: Codec,
    banks: Banks,
    run: HostRun,
    /// Address ranges in host memory, by name.
    places: BTreeMap<String, (u64, u64)>,
    /// Instructions with unfinished mover commands, in order.
    outstanding: [VecDeque<usize>; Stream::ALL.len()],
    tags: [u8; Stream::ALL.len()],
    products: usize,
    /// Last instruction that DONE reports as complete; `None` after another instruction is issued.
    done: Option<usize>,
    /// Whether an earlier instruction may still raise DONE.
    is_ambiguous: bool,
}

impl Driver {
    /// Allocates host memory for windows and weights.
    fn new(config: &Config, ops: &[Op], base: u64) -> Result<Self, Stopped> {
        let mut places = Vec::new();
        let mut next = base;
        let mut place = |name: String, bytes: u64| {
            next = next.next_multiple_of(PAGE);
            places.push(HostPlace { name, address: next, bytes });
            next = next.saturating_add(bytes);
        };
        for ((direction, number), units) in windows(config, ops) {
            place(window_name(direction, number), units * WORD_BYTES as u64);
        }
        for (number, n, k) in products(ops) {
            let row = WeightImage::size_of(1, k);
            place(rows_name(number, 0), row * n.div_ceil(2) as u64);
            place(rows_name(number, 1), row * (n / 2) as u64);
        }
        if next > 1 << 32 {
            let error = TargetError::failed(AccessesError::Address { end: next });
            return Err(Stopped { instruction: None, error });
        }
        let named = places.iter().map(|place| (place.name.clone(), (place.address, place.bytes))).collect();
        Ok(Self {
            places: named,
            codec: Codec::new(config),
            banks: Banks::default(),
            run: HostRun { places, ..HostRun::default() },
            outstanding: Default::default(),
            tags: [0; Stream::ALL.len()],
            products: 0,
            done: None,
            is_ambiguous: false,
        })
    }

    /// Returns the address range of a named buffer in host memory.
    fn place(&self, name: &str) -> Option<(u64, u64)> {
        self.places.get(name).copied()
    }

    fn instruction(&mut self, index: usize, op: &Op) -> Result<(), AccessesError> {
        let streams = self.bring(index, op);
        let word = self.codec.encode(op)?;
        self.write(Some(index), COMMAND, 64, word, format!("pushes {}", op.mnemonic()));
        self.banks.step(op);
        let signal = self.issued(index, op);
        let is_async = matches!(op, Op::Memcpy(Memcpy { is_async: true, .. }))
            || matches!(op, Op::Cvo(cvo) if cvo.is_async);
        self.run.completions.push(HostCompletion {
            instruction: index,
            name: op.mnemonic().to_owned(),
            is_async,
            signal,
            ..HostCompletion::default()
        });
        if op.is_synchronous() && !matches!(op, Op::Memset(_)) {
            streams.into_iter().for_each(|stream| self.pop_all(stream));
            self.read_done();
        }
        Ok(())
    }

    /// Issues the mover commands of an instruction. Returns the streams with a status that shows
    /// completion.
    fn bring(&mut self, index: usize, op: &Op) -> Vec<Stream> {
        match op {
            Op::Memcpy(memcpy) => self.transfer(index, memcpy).into_iter().collect(),
            // The weights are already in L2, where an earlier MEMCPY put them.
            Op::Gemv(_) | Op::Gemm(_) if op.takes_weights(&self.banks) => {
                let streams = if matches!(op, Op::Gemm(_)) {
                    [Stream::Hp0, Stream::Hp1]
                } else {
                    [Stream::Hp2, Stream::Hp3]
                };
                for (odd, stream) in streams.into_iter().enumerate() {
                    let place = self.place(&rows_name(self.products, odd));
                    place
                        .into_iter()
                        .for_each(|(address, bytes)| self.command(index, stream, address, bytes));
                }
                self.products += 1;
                Vec::new()
            }
            // The other engines access only L2.
            _ => Vec::new(),
        }
    }

    fn transfer(&mut self, index: usize, memcpy: &Memcpy) -> Option<Stream> {
        let (stream, direction, number) = match (memcpy.from_device, memcpy.to_device) {
            (Device::Host, Device::Npu) => (Stream::AcpFmap, Direction::HostToL2, memcpy.src_addr),
            (Device::Npu, Device::Host) => (Stream::AcpResult, Direction::L2ToHost, memcpy.dest_addr),
            (Device::Npu, Device::Npu) | (Device::Host, Device::Host) => return None,
        };
        let (start, _) = self.place(&window_name(direction, number))?;
        let values = usize::try_from(self.banks.fmap(memcpy.shape_ptr_addr).product()).ok()?;
        let unit = WORD_BYTES as u64;
        let (address, bytes) = (start + u64::from(memcpy.aux_addr) * unit, words_of(values) * unit);
        self.command(index, stream, address, bytes);
        Some(stream)
    }

    /// Sends commands to a mover: one for each part that fits its length field.
    fn command(&mut self, index: usize, stream: Stream, mut address: u64, mut bytes: u64) {
        while bytes > 0 {
            let part = bytes.min(MAX_BYTES);
            if self.outstanding[stream as usize].len() == QUEUE {
                self.pop(stream);
            }
            let tag = self.tags[stream as usize];
            self.tags[stream as usize] = (tag + 1) % 16;
            // The casts lose nothing: the address was checked, and a part has at most 23 bits.
            let command = data_mover(tag, address as u32, part as u32, part == bytes);
            let Some((high, low)) = command else { return };
            let name = stream.name();
            let page = stream.page();
            let meaning = format!("{name}: {part} bytes at {address:#x}, tag {tag}");
            self.write(Some(index), page, 32, low & 0xFFFF_FFFF, meaning);
            self.write(Some(index), page + 0x04, 32, low >> 32, format!("{name}: address"));
            self.write(Some(index), page + 0x08, 32, high.into(), format!("{name}: tag"));
            self.write(Some(index), page + 0x0C, 32, 1, format!("{name}: takes the command"));
            self.outstanding[stream as usize].push_back(index);
            address += part;
            bytes -= part;
        }
    }

    /// Describes how the completion of an issued instruction is detected.
    fn issued(&mut self, index: usize, op: &Op) -> String {
        // A DONE that was raised but not read may still be visible, which makes the next one
        // ambiguous.
        self.is_ambiguous |= self.done.take().is_some();
        match op.engine() {
            Engine::Gemm | Engine::Cvo if self.is_ambiguous => {
                "nothing: DONE may belong to an earlier instruction, which the host has not waited for"
                    .to_owned()
            }
            Engine::Gemm | Engine::Cvo => {
                self.done = Some(index);
                "DONE in STATUS, unless another instruction is issued first".to_owned()
            }
            Engine::Gemv => "nothing: GEMV does not set DONE, and its movers only report weights".to_owned(),
            Engine::Memcpy => match op {
                Op::Memcpy(Memcpy { from_device: Device::Host, .. }) => "the status of acp_fmap".to_owned(),
                Op::Memcpy(Memcpy { to_device: Device::Host, .. }) => "the status of acp_result".to_owned(),
                _ => "nothing: MEMCPY does not set DONE".to_owned(),
            },
            Engine::Dispatch => "the next instruction, before which it is complete".to_owned(),
        }
    }

    /// Waits for unfinished instructions, as far as their completion can be detected.
    fn wait(&mut self) {
        Stream::ALL.into_iter().for_each(|stream| self.pop_all(stream));
        self.read_done();
        self.is_ambiguous = false;
    }

    fn pop_all(&mut self, stream: Stream) {
        while !self.outstanding[stream as usize].is_empty() {
            self.pop(stream);
        }
    }

    /// Reads a status of a mover: its oldest command is done.
    fn pop(&mut self, stream: Stream) {
        let Some(index) = self.outstanding[stream as usize].pop_front() else { return };
        self.read(
            Some(index),
            stream.page() + 0x10,
            32,
            OKAY,
            format!("{}: a command is done", stream.name()),
        );
        if matches!(stream, Stream::AcpFmap | Stream::AcpResult) {
            self.completed(index);
        }
    }

    /// Polls the status for DONE, if it belongs to the last instruction.
    fn read_done(&mut self) {
        let Some(index) = self.done.take() else { return };
        let meaning = "until DONE; the first eight words may be outdated".to_owned();
        self.read(Some(index), COMMAND, 64, DONE, meaning);
        self.completed(index);
    }

    /// Records that the last access shows the completion of an instruction.
    fn completed(&mut self, index: usize) {
        let last = self.run.accesses.len() - 1;
        if let Some(completion) = self.run.completions.get_mut(index) {
            completion.access = Some(last);
        }
    }

    fn write(&mut self, instruction: Option<usize>, offset: u64, bits: u32, value: u64, meaning: String) {
        let digits = 2 + bits as usize / 4;
        let (address, value) = (BASE + offset, format!("{value:#0digits$x}"));
        let is_write = true;
        self.run.accesses.push(HostAccess {
            instruction,
            is_write,
            address,
            bits,
            value,
            mask: None,
            meaning,
        });
    }

    fn read(
        &mut self,
        instruction: Option<usize>,
        offset: u64,
        bits: u32,
        (value, mask): (&str, &str),
        meaning: String,
    ) {
        self.run.accesses.push(HostAccess {
            instruction,
            is_write: false,
            address: BASE + offset,
            bits,
            value: value.to_owned(),
            mask: Some(mask.to_owned()),
            meaning,
        });
    }
}

/// Returns the buffer name of the even or odd rows of a product's weights, as one port transfers
/// them.
fn rows_name(number: usize, odd: usize) -> String {
    format!("weights.{number}, {} rows", if odd == 0 { "even" } else { "odd" })
}
