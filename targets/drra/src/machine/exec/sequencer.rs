//! Sequencer: executes one instruction per cycle (specification 4.1, 5.1).

use super::calc;
use super::word::Word;
use crate::config::fabric::{Cell, Direction, Options};
use crate::config::seed::LogicOperands;
use crate::isa::op::{ActMode, CalcMode, Op, ResourceOp, Transfer};
use crate::machine::agu::Level;
use crate::machine::fault::FaultKind;
use crate::machine::state::{CellState, DpuConfig, Sequencer};

/// Notice about an instruction, if any.
pub(crate) type Announced = Option<Notice>;

/// Notice for the author of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Hardware may lose the instruction, as it comes too early.
    Early(FaultKind),
    /// A division by 0, which gives 0.
    DivisionByZero,
}

impl Sequencer {
    /// Returns the instruction of `cycle`. Memory after the program is 0, which is `halt`.
    #[inline]
    pub(crate) fn op(&self, cycle: u64) -> Option<Op> {
        // Default: memory after the program is 0, which is `halt`.
        (self.next == cycle).then(|| self.ops.get(self.pc).copied().unwrap_or(Op::Halt))
    }

    /// Raises the lines of the instruction of `cycle`.
    #[inline]
    pub(crate) fn raise(&mut self, cycle: u64) {
        self.raised = match self.op(cycle) {
            Some(Op::Act { mode, ports, param }) => self.lines(mode, ports, param),
            _ => 0,
        };
    }

    fn lines(&self, mode: ActMode, ports: u16, param: u8) -> u64 {
        match mode {
            // Default: lines above slot 15 do not exist.
            ActMode::Contiguous => u64::from(ports).checked_shl(4 * u32::from(param)).unwrap_or(0),
            ActMode::PortIndex => {
                let of_slot = if self.options.revision.is_seed() { port_of_index(param) } else { param & 15 };
                let slots = (0..16).filter(|slot| ports >> slot & 1 == 1);
                slots.fold(0, |lines, slot| lines | u64::from(of_slot) << (4 * slot))
            }
            ActMode::Map => (0..4).fold(0, |lines, part| {
                lines | u64::from(self.map_part(usize::from(param) + part)) << (16 * part)
            }),
        }
    }

    /// Returns sixteen lines of a map. In revision `Seed`, a map may start at any register, and
    /// wraps from 15 to 0.
    fn map_part(&self, register: usize) -> u16 {
        let register = if self.options.revision.is_seed() { register % self.regs.len() } else { register };
        // Default: a register that is not followed by three others is refused; the lint reads 0.
        self.regs.get(register).copied().unwrap_or(0) as u16
    }

    fn reg(&self, index: u8) -> i16 {
        self.regs[usize::from(index & 15)]
    }

    /// Value of a flag register: 0 or 1.
    fn flag(&self, index: u8) -> i16 {
        (self.flags >> (index & 15) & 1) as i16
    }

    /// Value of an operand of `mode`.
    fn operand(&self, mode: CalcMode, index: u8) -> i16 {
        let Options { revision, seed, .. } = self.options;
        let is_flag = revision.is_seed() && mode.is_logic() && seed.logic_operands == LogicOperands::Flags;
        if is_flag { self.flag(index) } else { self.reg(index) }
    }

    fn calc(&mut self, mode: CalcMode, operand1: u8, dynamic: bool, operand2: u8, result: u8) -> Announced {
        let operand2 = if dynamic { self.operand(mode, operand2) } else { operand2.into() };
        let of = if self.options.revision.is_released() { calc::released } else { calc::calc };
        if let Some(value) = of(mode, self.operand(mode, operand1), operand2) {
            self.store(mode, result & 15, value);
        }
        let divides = matches!(mode, CalcMode::Div | CalcMode::Mod);
        (divides && operand2 == 0).then_some(Notice::DivisionByZero)
    }

    /// Stores a result. In revision `Seed`, results of comparisons and logic go to a flag register.
    fn store(&mut self, mode: CalcMode, result: u8, value: i16) {
        if self.options.revision.is_seed() && mode.gives_flag() {
            self.flags = self.flags & !(1 << result) | u16::from(value != 0) << result;
        } else {
            self.regs[usize::from(result)] = value;
        }
    }

    /// Whether the register that `brn` names is set.
    fn is_set(&self, index: u8) -> bool {
        if self.options.revision.is_seed() { self.flag(index) != 0 } else { self.reg(index) != 0 }
    }

    /// Branches to a distance from the next instruction, or in revision `Seed` from the branch
    /// itself.
    fn branch(&mut self, distance: i16) -> Result<(), FaultKind> {
        let base = 1 - i64::from(self.options.revision.branch_base());
        let target = self.pc as i64 + base + i64::from(distance);
        let words = self.iram_words;
        match usize::try_from(target).ok().filter(|target| *target < words) {
            Some(target) => self.pc = target,
            None => return Err(FaultKind::Branch { target, words }),
        }
        Ok(())
    }
}

/// Returns the mask of a slot's port, or 0 if the port number is above 3.
fn port_of_index(port: u8) -> u8 {
    // Default: no port has this number, which the lint reports.
    if port < 4 { 1 << port } else { 0 }
}

/// Executes the instruction of `cycle`. [`Sequencer::raise`] has raised its lines. Its changes take
/// effect in the next cycle.
pub(crate) fn execute<W: Word>(
    state: &mut CellState<W>,
    cell: &Cell,
    options: Options,
    cycle: u64,
) -> Result<Announced, FaultKind> {
    let Some(op) = state.sequencer.op(cycle) else { return Ok(None) };
    let sequencer = &mut state.sequencer;
    let mut cycles = 1;
    let mut notice = None;
    match op {
        Op::Halt => {
            sequencer.halted = Some(cycle);
            sequencer.next = u64::MAX;
            return Ok(None);
        }
        // Other revisions refuse this instruction. The lint treats its operand as a count of
        // cycles.
        Op::Wait { events: true, cycle: slots } if options.revision.is_seed() => {
            let next = state.ports.after_events(cycle.saturating_add(1), slots as u16, options.seed);
            cycles = next - cycle;
        }
        Op::Wait { cycle, .. } => cycles += u64::from(cycle),
        Op::Act { .. } => {
            let raised = sequencer.raised;
            notice = state.ports.activate(cycle, raised)?.map(Notice::Early);
        }
        Op::Calc { mode, operand1, dynamic, operand2, result } => {
            notice = sequencer.calc(mode, operand1, dynamic, operand2, result);
        }
        // The released sequencer ignores branches.
        Op::Brn { .. } if options.revision.is_released() => {}
        Op::Brn { reg, target_true, target_false } => {
            sequencer.next = cycle + 1;
            let taken = sequencer.is_set(reg);
            return sequencer.branch(if taken { target_true } else { target_false }).map(|()| None);
        }
        Op::Resource { slot, op } => {
            notice = resource(state, cell, options, cycle, slot, op)?.map(Notice::Early);
        }
    }
    state.sequencer.next = cycle.saturating_add(cycles);
    state.sequencer.pc += 1;
    Ok(notice)
}

/// Passes an instruction to the component at its slot.
///
/// Programs with an instruction that the component does not have are refused. The lint executes
/// them nevertheless, to find other mistakes; such an instruction has no effect.
fn resource<W: Word>(
    state: &mut CellState<W>,
    cell: &Cell,
    options: Options,
    cycle: u64,
    slot: u8,
    op: ResourceOp,
) -> Result<Option<FaultKind>, FaultKind> {
    match op {
        ResourceOp::Dpu { config, mode, immediate } => {
            let dpu = state.dpus.iter_mut().find(|dpu| dpu.slot == slot);
            if let Some(config) = dpu.and_then(|dpu| dpu.configs.get_mut(usize::from(config))) {
                *config = DpuConfig { mode, immediate: immediate.cast_signed() };
            }
            Ok(None)
        }
        ResourceOp::Swb { option, source, target, .. } => {
            state.swb.link(option, source, target);
            Ok(None)
        }
        ResourceOp::Route { option, sr: Transfer::Send, source, target } => {
            state.swb.send(option, source, target);
            Ok(None)
        }
        ResourceOp::Route { option, sr: Transfer::Receive, source, target } => {
            if let Some(direction) = Direction::from_code(source) {
                state.swb.receive(option, direction, target);
            }
            Ok(None)
        }
        ResourceOp::Evt { port } => state.ports.open(cycle, slot, port, 0, 0),
        ResourceOp::Dsu { option, port, dynamic, base } => {
            let base = if dynamic { state.sequencer.reg(base as u8) as u16 } else { base };
            state.ports.open(cycle, slot, port, option, base)
        }
        ResourceOp::Rep { port, iter, step, delay } => {
            let level = Level { iter: iter.into(), step: options.revision.step(step), delay: delay.into() };
            let Some(component) = cell.component_at(slot) else { return Ok(None) };
            let widths = options.revision.widths(component);
            state.ports.rep(cycle, slot, port, level, widths, options.extensions)
        }
        ResourceOp::Repx { port, iter, step, delay } => {
            state.ports.repx(cycle, slot, port, iter, step, delay)
        }
        ResourceOp::Trans { port, delay } => state.ports.trans(cycle, slot, port, delay),
    }
}
