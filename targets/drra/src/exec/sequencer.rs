//! The sequencer: one instruction a cycle (specification 4.1, 5.1).

use super::calc;
use crate::agu::Level;
use crate::fabric::{Cell, Direction, Options};
use crate::fault::FaultKind;
use crate::op::{ActMode, CalcMode, Op, ResourceOp, Transfer};
use crate::revision::Revision;
use crate::state::{CellState, DpuConfig, Sequencer};

/// What the author of an instruction should know of.
pub(crate) type Told = Option<Notice>;

/// Something the program's author should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Hardware may not take it yet.
    Early(FaultKind),
    /// A division by 0, whose result is 0.
    DivisionByZero,
}

impl Sequencer {
    /// The instruction of `cycle`. Memory beyond the program is 0, which halts.
    #[inline]
    pub(crate) fn op(&self, cycle: u64) -> Option<Op> {
        // Default: memory beyond the program is 0, which is `halt`.
        (self.next == cycle).then(|| self.ops.get(self.pc).copied().unwrap_or(Op::Halt))
    }

    /// The lines that the instruction of `cycle` raises.
    #[inline]
    pub(crate) fn raise(&mut self, cycle: u64) {
        self.raised = match self.op(cycle) {
            Some(Op::Act { mode, ports, param }) => self.lines(mode, ports, param),
            _ => 0,
        };
    }

    fn lines(&self, mode: ActMode, ports: u16, param: u8) -> u64 {
        match mode {
            // Default: there are no lines beyond those of 16 slots.
            ActMode::Contiguous => u64::from(ports).checked_shl(4 * u32::from(param)).unwrap_or(0),
            ActMode::PortIndex => {
                let slots = (0..16).filter(|slot| ports >> slot & 1 == 1);
                slots.fold(0, |lines, slot| lines | u64::from(param & 15) << (4 * slot))
            }
            ActMode::Map => (0..4).fold(0, |lines, part| {
                // Default: a first register from which on there are not four is refused; the lint reads 0 there.
                let reg = self.regs.get(usize::from(param) + part).copied().unwrap_or(0);
                lines | u64::from(reg as u16) << (16 * part)
            }),
        }
    }

    fn reg(&self, index: u8) -> i16 {
        self.regs[usize::from(index & 15)]
    }

    fn calc(
        &mut self,
        revision: Revision,
        (mode, operand1, operand2): (CalcMode, u8, i16),
        result: u8,
    ) -> Told {
        let of = if revision.is_released() { calc::released } else { calc::calc };
        if let Some(value) = of(mode, self.reg(operand1), operand2) {
            self.regs[usize::from(result & 15)] = value;
        }
        let divides = matches!(mode, CalcMode::Div | CalcMode::Mod);
        (divides && operand2 == 0).then_some(Notice::DivisionByZero)
    }

    /// Goes on at a distance from the next instruction.
    fn branch(&mut self, distance: i16) -> Result<(), FaultKind> {
        let target = self.pc as i64 + 1 + i64::from(distance);
        let words = self.iram_words;
        match usize::try_from(target).ok().filter(|target| *target < words) {
            Some(target) => self.pc = target,
            None => return Err(FaultKind::Branch { target, words }),
        }
        Ok(())
    }
}

/// Executes the instruction of `cycle`, whose lines were raised by [`Sequencer::raise`]. What it changes shows from
/// the next cycle on.
pub(crate) fn execute(
    state: &mut CellState,
    cell: &Cell,
    options: Options,
    cycle: u64,
) -> Result<Told, FaultKind> {
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
        Op::Wait { cycle, .. } => cycles += u64::from(cycle),
        Op::Act { .. } => {
            let raised = sequencer.raised;
            notice = state.ports.activate(cycle, raised)?.map(Notice::Early);
        }
        Op::Calc { mode, operand1, dynamic, operand2, result } => {
            let operand2 = if dynamic { sequencer.reg(operand2) } else { operand2.into() };
            notice = sequencer.calc(options.revision, (mode, operand1, operand2), result);
        }
        // The released sequencer does not know it.
        Op::Brn { .. } if options.revision.is_released() => {}
        Op::Brn { reg, target_true, target_false } => {
            sequencer.next = cycle + 1;
            let taken = sequencer.reg(reg) != 0;
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

/// Hands an instruction to the component at its slot.
///
/// A program with an instruction that cannot be there never runs, it is refused. The lint goes through it all the
/// same, for what else is wrong with it: that instruction then changes nothing.
fn resource(
    state: &mut CellState,
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
        ResourceOp::Evt { port } => state.ports.open(cycle, slot, port, 0),
        ResourceOp::Dsu { port, dynamic, base, .. } => {
            let base = if dynamic { state.sequencer.reg(base as u8) as u16 } else { base };
            state.ports.open(cycle, slot, port, base)
        }
        ResourceOp::Rep { port, iter, step, delay } => {
            let level = Level { iter: iter.into(), step: step.into(), delay: delay.into() };
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
