//! Norms, row by row (specification 5.4).

use npukit_graph::{NodeId, Op, ValueId};

use super::NodeWork;
use super::attention::number;
use crate::config::WORD_LANES;
use crate::isa::op::{CvoFlags, CvoFunc};
use crate::lower::LowerError;
use crate::lower::emit::Lowering;
use crate::lower::macros::{Macros, Numbers};
use crate::lower::memory::Region;
use crate::lower::reason::HostReason;
use crate::lower::steps::Layers;
use crate::lower::work::{Norm, Work};
use crate::program::host::HostStep;

impl Layers {
    /// Lowers a norm of rows over the axes from `axis` to the last.
    ///
    /// # Errors
    /// The reason why the host computes it.
    pub(super) fn norm(
        &mut self,
        id: NodeId,
        [x, gain]: [ValueId; 2],
        bias: Option<ValueId>,
        axis: usize,
        epsilon: f32,
        ext: bool,
    ) -> NodeWork {
        let shape = self.graph.shape(x).to_vec();
        let trailing = shape[axis..].to_vec();
        let row: usize = trailing.iter().product();
        if row == 0 || (!row.is_multiple_of(WORD_LANES) && row != self.size(x)) {
            return Err(HostReason::NormRows);
        }
        let is = |id, all| number(&self.graph, id) == Some(all);
        let folded = self.folds.has(id);
        let gain = (!folded && !is(gain, 1.0)).then_some(gain);
        let bias = bias.filter(|&bias| !folded && !is(bias, 0.0));
        if gain.is_some() && !ext {
            return Err(HostReason::GainsStay);
        }
        let gain = gain.map(|gain| self.spread(gain, &trailing)).transpose()?;
        let bias = bias.map(|bias| self.spread(bias, &trailing)).transpose()?;
        let centered = matches!(self.graph.node(id).op, Op::LayerNormalization(_));
        // Gains and biases are operands of the step only if they are not constant.
        let moving = [gain, bias].into_iter().flatten().filter(|&id| self.graph.constant(id).is_none());
        let operands = std::iter::once(x).chain(moving).collect();
        Ok((
            Work::Norm(Norm { epsilon, centered, gain, bias, row, only_roots: false, squares_by_host: !ext }),
            operands,
        ))
    }
}

impl Lowering<'_> {
    /// Emits row by row: mean, squares, root of their mean, and quotient.
    ///
    /// # Errors
    /// Too little room in L2.
    pub(super) fn norm(&mut self, norm: &Norm, x: ValueId, result: ValueId) -> Result<(), LowerError> {
        let (source, row) = (self.fetch(x)?, norm.row);
        let numbers = self.numbers(norm.row, norm.epsilon)?;
        if norm.only_roots {
            let roots = self.only_roots(norm, x, source, &numbers)?;
            self.place(result, roots);
            return Ok(());
        }
        let [gain, bias] = [norm.gain, norm.bias].map(|id| id.map(|id| self.load(id)).transpose());
        let (gain, bias) = (gain?, bias?);
        // Squares of a row, or the sums of all rows with one word per row.
        let squares = match norm.squares_by_host {
            true => self.roots(norm, x, &numbers)?,
            false => self.allocate(row)?,
        };
        let region = match norm.centered {
            true => self.turn(x)?,
            false => self.like(x)?,
        };
        for (index, start) in (0..source.values).step_by(row.max(1)).enumerate() {
            let (from, to) = (source.at(start), region.at(start));
            // The operand of the square, and whether the word before it is free for a scalar.
            let (from, owns) = match norm.centered {
                true => {
                    self.take_mean_off(&numbers, to, row)?;
                    (to, to == region.base)
                }
                false => (from, from == source.base),
            };
            let root = match norm.squares_by_host {
                true => squares.at(index * WORD_LANES),
                false => {
                    let root = if owns { from - 1 } else { numbers.root };
                    self.root(&numbers, squares, from, row, root);
                    root
                }
            };
            self.scale([from, root, to], owns, row, CvoFlags { recip_scale: true, ..CvoFlags::PLAIN })?;
            if let Some(gain) = gain {
                self.code.cvo(CvoFunc::Mul, gain.base, to, row, CvoFlags::PLAIN);
            }
            if let Some(bias) = bias {
                let one = self.scalar(1.0)?;
                self.scale([bias.base, one, to], true, row, CvoFlags::ADD)?;
            }
        }
        [Some(squares), gain, bias].into_iter().flatten().for_each(|region| self.release(region));
        self.place(result, region);
        Ok(())
    }

    /// Emits the root of the mean square of each row; returns one word per row.
    fn only_roots(
        &mut self,
        norm: &Norm,
        x: ValueId,
        source: Region,
        numbers: &Numbers,
    ) -> Result<Region, LowerError> {
        match norm.squares_by_host {
            true => self.roots(norm, x, numbers),
            false => self.own_roots(norm, source, numbers),
        }
    }

    /// Emits the root of the mean square of each row with MUL; returns one word per row.
    fn own_roots(&mut self, norm: &Norm, source: Region, numbers: &Numbers) -> Result<Region, LowerError> {
        let rows = source.values / norm.row.max(1);
        let (squares, roots) = (self.allocate(norm.row)?, self.allocate(rows * WORD_LANES)?);
        for row in 0..rows {
            let (from, root) = (source.at(row * norm.row), roots.at(row * WORD_LANES));
            self.root(numbers, squares, from, norm.row, root);
        }
        self.release(squares);
        Ok(roots)
    }

    /// Emits the root of the mean square of each row; the host adds up squares, the machine does
    /// the rest. Returns one word per row.
    fn roots(&mut self, norm: &Norm, x: ValueId, numbers: &Numbers) -> Result<Region, LowerError> {
        let rows = self.values(x) / norm.row.max(1);
        let sums = self.slot("sums of squares", vec![rows, WORD_LANES]);
        self.bring_to_host(x);
        let (row, centered) = (norm.row as u32, norm.centered);
        self.code.step(HostStep::Squares { slot: x, row, centered, sums });
        let lanes = rows * WORD_LANES;
        let region = self.allocate(lanes)?;
        self.code.send(sums, region);
        self.scale([region.base, numbers.share, region.base], true, lanes, CvoFlags::PLAIN)?;
        if norm.epsilon != 0.0 {
            let epsilon = norm.epsilon;
            let many = self.keep(&format!("{lanes} times {epsilon}"), || vec![epsilon; lanes])?;
            self.scale([many.base, numbers.one, region.base], true, lanes, CvoFlags::ADD)?;
        }
        self.code.cvo(CvoFunc::Sqrt, region.base, region.base, lanes, CvoFlags::PLAIN);
        Ok(region)
    }

    /// Loads a gain or bias; the caller releases it.
    fn load(&mut self, id: ValueId) -> Result<Region, LowerError> {
        if self.graph.constant(id).is_none() {
            let (source, region) = (self.fetch(id)?, self.allocate(self.values(id))?);
            self.code.copy(source.base, region.base, source.values);
            return Ok(region);
        }
        let region = self.allocate(self.values(id))?;
        self.send(id, region);
        Ok(region)
    }
}
