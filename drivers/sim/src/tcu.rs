//! Board of TCU: its machine with two DMA engines, and one memory for everything.
//!
//! Registers of the instruction DMA are at [`INSTRUCTIONS`], and registers of the sample DMA at
//! [`SAMPLES`]. Memory is the first GiB. The machine's banks are windows of that memory at the
//! offsets that the program configures; vectors are only in the machine's own DRAM while an
//! instruction moves them. Instructions are executed one after the other. Samples come from the
//! clock, as if all instructions since the interval was set had arrived without a pause.

use npukit_target::UninitMemory;
use npukit_tcu::internals::artifact::{raw_from_bytes, raw_to_bytes};
use npukit_tcu::internals::clock::Clock;
use npukit_tcu::internals::codec::decode_program_lenient;
use npukit_tcu::internals::config::ClockParams;
use npukit_tcu::internals::op::DataMoveKind;
use npukit_tcu::{Config, Machine, Memory, Op, Register};

use crate::dma::{Channel, Dma, DmaError, Transfer};
use crate::faults::{Fault, Faults};
use crate::ram::Ram;
use crate::{MakeBoard, server};

/// Address of the registers of the instruction DMA engine.
const INSTRUCTIONS: u64 = 0x4040_0000;
/// Address of the registers of the sample DMA engine.
const SAMPLES: u64 = 0x4041_0000;
const RAM_BYTES: u64 = 1 << 30;
/// Size of a sample in bytes.
const SAMPLE: usize = 8;
/// Number of samples between two TLAST.
const BLOCK: u32 = 64;
/// Number of polls of an idle sample DMA after which the time between two programs is sampled too.
const IDLE_LOOKS: u32 = 8;
const GARBAGE: u64 = 0x7463_7500;

struct Board {
    config: Config,
    machine: Machine,
    ram: Ram,
    instructions: Dma,
    samples: Dma,
    clock: Clock,
    /// Bytes of the stream that do not form a whole instruction yet.
    partial: Vec<u8>,
    /// Whether an instruction was refused, so that later ones are too.
    hung: bool,
    /// Whether writes of the machine to memory are lost.
    deaf: bool,
    /// Instructions since an interval was set.
    sampled: Vec<Op>,
    /// Samples of these instructions.
    words: Words,
    /// A transfer of executed instructions whose end was not reported to the driver yet.
    executed: Option<u32>,
    /// A transfer that waits for samples, and how often the driver has polled it.
    wanted: Option<(Transfer, u32)>,
}

/// Samples, and how many of them were streamed.
#[derive(Default)]
struct Words {
    /// Number of instructions that they cover.
    instructions: usize,
    /// Samples including the idle time after the instructions, up to a whole block.
    whole_blocks: Vec<u64>,
    /// Number of samples without the idle time.
    of_instructions: usize,
    streamed: usize,
}

/// Returns the maker of boards of an instance: a preset or a `.tarch` file, with an optional suffix
/// `@BITS` for the width of its streams.
pub fn maker(instance: &str) -> Result<MakeBoard, String> {
    let (name, bits) = instance.rsplit_once('@').unwrap_or((instance, "64"));
    let axi_bits: u32 = bits.parse().map_err(|_| format!("`{bits}` is not a width of streams in bits"))?;
    let config = config(name)?;
    let params = ClockParams { axi_bits, ..ClockParams::with_latency(18) };
    let clock = Clock::new(&config, params).map_err(|error| error.to_string())?;
    Ok(Box::new(move || {
        let machine = Machine::with_unset(&config, UninitMemory::Garbage(GARBAGE))
            .map_err(|error| error.to_string())?;
        Ok(Box::new(Board {
            config: config.clone(),
            machine,
            ram: Ram::new(RAM_BYTES),
            instructions: Dma::new(INSTRUCTIONS, axi_bits / 8),
            samples: Dma::new(SAMPLES, SAMPLE as u32),
            clock: clock.clone(),
            partial: Vec::new(),
            hung: false,
            deaf: false,
            sampled: Vec::new(),
            words: Words::default(),
            executed: None,
            wanted: None,
        }))
    }))
}

fn config(name: &str) -> Result<Config, String> {
    if let Some(config) = Config::preset(name) {
        return Ok(config);
    }
    let text = std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
    let (config, _) = Config::from_json(&text).map_err(|error| format!("{name}: {error}"))?;
    Ok(config)
}

impl server::Board for Board {
    fn read_register(&mut self, address: u64, bytes: &mut [u8], faults: &mut Faults) -> Option<()> {
        if self.samples.has(address) {
            self.stream_samples(faults);
        } else {
            self.end_instructions();
        }
        let value = self.instructions.read(address).or_else(|| self.samples.read(address))?;
        (bytes.len() == 4).then(|| bytes.copy_from_slice(&value.to_le_bytes()))
    }

    fn write_register(&mut self, address: u64, bytes: &[u8], faults: &mut Faults) -> Option<()> {
        let value = u32::from_le_bytes(bytes.try_into().ok()?);
        if self.instructions.has(address) {
            if let Some(transfer) = self.instructions.write(address, value)? {
                self.take_instructions(transfer, faults);
            }
            return Some(());
        }
        let transfer = self.samples.write(address, value)?;
        self.wanted = transfer.map(|transfer| (transfer, 0)).or(self.wanted);
        Some(())
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.ram.read(address, bytes)
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        self.ram.write(address, bytes)
    }
}

/// Injected error of a transfer.
fn injected(faults: &mut Faults) -> Option<DmaError> {
    let errors = [
        (Fault::DmaInternal, DmaError::Internal),
        (Fault::DmaSlave, DmaError::Slave),
        (Fault::DmaDecode, DmaError::Decode),
    ];
    errors.into_iter().filter(|(fault, _)| faults.is_due(*fault)).map(|(_, error)| error).last()
}

impl Board {
    fn take_instructions(&mut self, transfer: Transfer, faults: &mut Faults) {
        let Transfer { channel, address, bytes } = transfer;
        let mut data = vec![0; bytes as usize];
        let read = self.ram.read(address, &mut data).ok_or(DmaError::Decode);
        if let Some(error) = injected(faults).or(read.err()) {
            self.instructions.fail(channel, error);
            return;
        }
        if faults.is_due(Fault::Stall) || self.hung {
            return;
        }
        self.partial.extend(data);
        self.execute(faults);
        if let Some((_, looks)) = &mut self.wanted {
            *looks = 0;
        }
        self.executed = (!self.hung).then_some(bytes);
    }

    /// Executes all complete instructions that have arrived.
    fn execute(&mut self, faults: &mut Faults) {
        let size = self.config.layout().instruction_bytes();
        let whole = self.partial.len() - self.partial.len() % size;
        let rest = self.partial.split_off(whole);
        let bytes = std::mem::replace(&mut self.partial, rest);
        let Ok(ops) = decode_program_lenient(&self.config, &bytes) else {
            self.hung = true;
            return;
        };
        for op in &ops {
            self.hung |= faults.is_due(Fault::Hang) || self.step(op, faults).is_none();
            if self.hung {
                return;
            }
        }
    }

    /// Executes one instruction; `None` if hardware would hang or access addresses beyond the
    /// memory.
    fn step(&mut self, op: &Op, faults: &mut Faults) -> Option<()> {
        self.move_in(op)?;
        self.machine.step(op).ok()?;
        self.move_out(op, faults)?;
        match *op {
            Op::Configure { register, value } if register == Register::SampleInterval as u8 => {
                self.sampled.clear();
                self.words = Words::default();
                if value > 0 {
                    self.sampled.push(*op);
                }
            }
            _ if !self.sampled.is_empty() => self.sampled.push(*op),
            _ => {}
        }
        Some(())
    }

    /// Vectors of a bank that a DataMove moves, with their byte addresses in memory.
    fn moved(&self, op: &Op) -> Option<(DataMoveKind, Vec<(u64, u64)>)> {
        let Op::DataMove { kind, other, size, .. } = *op else { return None };
        if kind.memory() == Memory::Accumulators {
            return None;
        }
        let offset = self.machine.configuration().offset_bytes(kind.memory());
        let bytes = self.vector_bytes() as u64;
        let vectors = (0..size).map(|i| other.address + (i << other.stride_log2));
        Some((kind, vectors.map(|vector| (vector, offset + vector * bytes)).collect()))
    }

    fn vector_bytes(&self) -> usize {
        self.config.array_size * self.config.data_type.size_bytes()
    }

    /// Copies the operands of the instruction from memory to the machine.
    fn move_in(&mut self, op: &Op) -> Option<()> {
        let Some((kind, places)) = self.moved(op).filter(|(kind, _)| kind.is_to_local()) else {
            return Some(());
        };
        let mut bytes = vec![0; self.vector_bytes()];
        for (vector, address) in places {
            self.ram.read(address, &mut bytes)?;
            let raw = raw_from_bytes(self.config.data_type, &bytes).ok()?;
            self.machine.write(kind.memory(), vector, &raw).ok()?;
        }
        Some(())
    }

    /// Copies the results of the instruction from the machine to memory.
    fn move_out(&mut self, op: &Op, faults: &mut Faults) -> Option<()> {
        let Some((kind, places)) = self.moved(op).filter(|(kind, _)| !kind.is_to_local()) else {
            return Some(());
        };
        for (vector, address) in places {
            let raw = self.machine.read(kind.memory(), vector, 1).ok()?;
            self.deaf |= faults.is_due(Fault::LoseWrites);
            if !self.deaf {
                self.ram.write(address, &raw_to_bytes(self.config.data_type, &raw))?;
            }
        }
        Some(())
    }

    /// Gives a block of samples to a waiting transfer: of executed instructions or, if nothing more
    /// arrives, of the idle time after them.
    fn stream_samples(&mut self, faults: &mut Faults) {
        let Some((transfer, looks)) = &mut self.wanted else { return };
        *looks += 1;
        let (Transfer { address, bytes, .. }, is_idle) = (*transfer, *looks > IDLE_LOOKS);
        if self.sampled.is_empty() || !(is_idle || self.has_block()) {
            return;
        }
        let count = (bytes as usize / SAMPLE).min(BLOCK as usize);
        let taken = self.take_words(count);
        let mut data: Vec<u8> = taken.iter().flat_map(|word| word.to_le_bytes()).collect();
        if let Some(highest) = data.get_mut(SAMPLE - 1).filter(|_| faults.is_due(Fault::DamagedSample)) {
            *highest = 0x80;
        }
        self.wanted = None;
        if let Some(error) =
            injected(faults).or(self.ram.write(address, &data).is_none().then_some(DmaError::Decode))
        {
            self.samples.fail(Channel::ToMemory, error);
        } else if !faults.is_due(Fault::Stall) {
            self.samples.complete(Channel::ToMemory, data.len() as u32);
        }
    }

    /// Takes the next samples. After the last one, its value is repeated.
    fn take_words(&mut self, count: usize) -> Vec<u64> {
        let words = self.words();
        let last = words.whole_blocks.last().copied().unwrap_or_default();
        let from = words.streamed.min(words.whole_blocks.len());
        let taken =
            words.whole_blocks[from..].iter().copied().chain(std::iter::repeat(last)).take(count).collect();
        words.streamed += count;
        taken
    }

    /// Whether a block of executed instructions has not been streamed.
    fn has_block(&mut self) -> bool {
        let words = self.words();
        words.streamed + BLOCK as usize <= words.of_instructions
    }

    /// Samples of all executed instructions.
    fn words(&mut self) -> &mut Words {
        let Self { words, clock, sampled, .. } = self;
        if words.instructions != sampled.len() {
            let mut whole_blocks = Vec::new();
            clock.run_sampled(sampled, 0, BLOCK, &mut |sample| whole_blocks.push(sample.word()));
            let mut of_instructions = 0;
            clock.run_sampled(sampled, 0, 1, &mut |_| of_instructions += 1);
            *words = Words { instructions: sampled.len(), whole_blocks, of_instructions, ..*words };
        }
        words
    }

    /// Ends the transfer of instructions after the samples of its time were read, if the driver
    /// reads them.
    fn end_instructions(&mut self) {
        if let Some(bytes) = self.executed
            && (self.sampled.is_empty() || self.wanted.is_none() || !self.has_block())
        {
            self.executed = None;
            self.instructions.complete(Channel::ToDevice, bytes);
        }
    }
}
