//! [`Registers`]: what instructions cost and touch depends on these, as they are when they are issued.

use super::region::Region;
use crate::fault::{Buffer, FaultKind};
use crate::op::{Addend, Op, Pool, Post, Shape};
use crate::timing::{Cost, Costs, SLOT};

/// An instruction for an engine, with its registers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Load { buffer: Buffer, cost: Cost, region: Region },
    Conv { addend: Addend, cost: Cost },
    Store { residual: bool, cost: Cost, region: Region },
    Pad { cost: Cost, region: Region },
}

/// Registers that time depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Registers {
    ifm: Option<Shape>,
    ofm: Option<Shape>,
    ker_n: Option<u32>,
    /// Bank, slots of a row.
    mem_ifm: Option<(u32, u32)>,
    mem_ker: Option<u32>,
    mem_bias: Option<u32>,
    /// Bank, rows, slots of a row.
    mem_ofm: Option<(u32, u32, u32)>,
    post: Option<Post>,
    pool: Option<Pool>,
}

/// The largest size of a plane that a word has the bits for.
const LONGEST: u32 = 1023;

/// Address of a bank's unit of 64 bytes.
fn address(bank: u32, addr: u32) -> u64 {
    (u64::from(bank) << 28) + u64::from(addr) * 64
}

fn defined<T>(register: Option<T>, name: &'static str, set_by: &'static str) -> Result<T, FaultKind> {
    register.ok_or(FaultKind::UndefinedRegister { register: name, set_by })
}

impl Registers {
    /// Sets what the instruction sets; what it makes an engine do, if anything.
    ///
    /// # Errors
    ///
    /// [`FaultKind`] when fields are not legal ([`Op::check`]), or [`FaultKind::UndefinedRegister`] when a
    /// register that it needs was never set.
    pub fn action(&mut self, op: &Op, costs: &Costs) -> Result<Option<Action>, FaultKind> {
        op.check()?;
        match *op {
            Op::LoadIfm { addr } => self.load_ifm(addr, costs).map(Some),
            Op::LoadKer { addr } => self.load_ker(addr, costs).map(Some),
            Op::LoadBias { addr } => self.load_bias(addr, costs).map(Some),
            Op::Conv { addend, .. } => {
                let cost = costs.conv(self.ofm()?, self.ifm()?.c);
                Ok(Some(Action::Conv { addend, cost }))
            }
            Op::Store { addr } => self.store(addr, costs).map(Some),
            Op::Pad { addr, p } => self.pad(addr, p, costs).map(Some),
            _ => {
                self.set(op);
                Ok(None)
            }
        }
    }

    fn set(&mut self, op: &Op) {
        match *op {
            Op::ShapeIfm(shape) => self.ifm = Some(shape),
            Op::ShapeOfm(shape) => self.ofm = Some(shape),
            Op::ShapeKer { n } => self.ker_n = Some(n),
            Op::MemIfm { bank, w } => self.mem_ifm = Some((bank, w.min(LONGEST))),
            Op::MemKer { bank } => self.mem_ker = Some(bank),
            Op::MemBias { bank } => self.mem_bias = Some(bank),
            Op::MemOfm { bank, h, w } => self.mem_ofm = Some((bank, h.min(LONGEST), w.min(LONGEST))),
            Op::Post(post) => self.post = Some(post),
            Op::Pool(pool) => self.pool = Some(pool),
            _ => (),
        }
    }

    fn ifm(&self) -> Result<Shape, FaultKind> {
        defined(self.ifm, "ifm_h", "@shape.ifm")
    }

    fn ofm(&self) -> Result<Shape, FaultKind> {
        defined(self.ofm, "ofm_h", "@shape.ofm")
    }

    fn load_ifm(&self, addr: u32, costs: &Costs) -> Result<Action, FaultKind> {
        let (bank, mem_w) = defined(self.mem_ifm, "ifm_addr", "@mem.ifm")?;
        let (tile, size) = (self.ifm()?, u64::from(costs.types().itype.size_bytes()));
        let region = tile_region(address(bank, addr), tile, mem_w, size);
        Ok(Action::Load { buffer: Buffer::Ifm, cost: costs.load_ifm(tile), region })
    }

    fn load_ker(&self, addr: u32, costs: &Costs) -> Result<Action, FaultKind> {
        let bank = defined(self.mem_ker, "ker_addr", "@mem.ker")?;
        let n = defined(self.ker_n, "ker_n", "@shape.ker")?;
        let (ofm_c, ifm_c) = (self.ofm()?.c, self.ifm()?.c);
        let elements = u64::from(n) * u64::from(ofm_c) * u64::from(ifm_c);
        let bytes = elements * u64::from(costs.types().ktype.size_bytes());
        let region = Region::line(address(bank, addr), bytes);
        Ok(Action::Load { buffer: Buffer::Ker, cost: costs.load_ker(n, ofm_c, ifm_c), region })
    }

    fn load_bias(&self, addr: u32, costs: &Costs) -> Result<Action, FaultKind> {
        let bank = defined(self.mem_bias, "bias_addr", "@mem.bias")?;
        let ofm_c = self.ofm()?.c;
        let bytes = u64::from(ofm_c) * u64::from(costs.types().btype.size_bytes());
        let region = Region::line(address(bank, addr), bytes);
        Ok(Action::Load { buffer: Buffer::Bias, cost: costs.load_bias(ofm_c), region })
    }

    fn store(&self, addr: u32, costs: &Costs) -> Result<Action, FaultKind> {
        let (bank, _, mem_w) = self.mem_ofm()?;
        let ofm = self.ofm()?;
        let post = defined(self.post, "post_order", "@post")?;
        let pool = defined(self.pool, "pool_h", "@pool")?;
        let size = u64::from(costs.types().itype.size_bytes());
        let region = tile_region(address(bank, addr), pool.result(ofm), mem_w, size);
        Ok(Action::Store { residual: post.res, cost: costs.store(ofm, pool), region })
    }

    fn pad(&self, addr: u32, p: u32, costs: &Costs) -> Result<Action, FaultKind> {
        let (bank, h, w) = self.mem_ofm()?;
        let both = p.saturating_mul(2);
        let inside = u64::from(h.saturating_sub(both)) * u64::from(w.saturating_sub(both));
        let all = u64::from(h) * u64::from(w);
        let bytes = all * SLOT * u64::from(costs.types().itype.size_bytes());
        let region = Region::line(address(bank, addr), bytes);
        Ok(Action::Pad { cost: costs.pad(all - inside), region })
    }

    fn mem_ofm(&self) -> Result<(u32, u32, u32), FaultKind> {
        defined(self.mem_ofm, "ofm_addr", "@mem.ofm")
    }
}

/// The slots of a tile in a plane of `mem_w` slots a row.
fn tile_region(base: u64, tile: Shape, mem_w: u32, size: u64) -> Region {
    let row = (u64::from(tile.w.saturating_sub(1)) * SLOT + u64::from(tile.c)) * size;
    Region { base, row, rows: u64::from(tile.h.max(1)), pitch: u64::from(mem_w) * SLOT * size }
}
