//! Numbers and what comes of them by the literal arithmetic of `npukit-numeric`, for the other definition of it in
//! `rtl/formal/tcu_literal.sv`: `literal FORMAT` writes records of five little-endian integers of 32 bits, operation (16 is
//! `mac`), left, right, addend and result: all there are of 8 bits, ten million at random of each kind of wider ones.

use std::io::{self, BufWriter, Write};

use npukit_numeric::{NumberFormat, Saturations, SplitMix64};
use npukit_tcu::DataType;
use npukit_tcu::internals::lanes::operate_lane;
use npukit_tcu::internals::op::SimdOp;

/// The operation's number that stands for `mac`.
const MAC: i32 = 16;
/// Samples of a kind where there are too many numbers for all.
const SAMPLES: usize = 10_000_000;

fn main() -> io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default(); // Default: a name that no format has.
    let Some(data_type) = DataType::from_name(&name) else {
        return Err(io::Error::other(format!("no number format is called `{name}`")));
    };
    let format = data_type.format();
    let NumberFormat::Fixed(fixed) = format else {
        return Err(io::Error::other("floats have no circuit"));
    };
    let mut records = Records { out: BufWriter::new(io::stdout().lock()), format };
    if fixed.width <= 8 {
        let all = || fixed.min()..=fixed.max();
        for (left, right) in all().flat_map(|left| all().map(move |right| (left, right))) {
            all().try_for_each(|addend| records.mac(left, right, addend))?;
            SimdOp::ALL.iter().try_for_each(|&op| records.operation(op, left, right))?;
        }
    } else {
        let mut random = SplitMix64::new(1);
        // Some of any size, so that sums and products that fit are among them.
        let mut draw = || {
            let word = random.bits();
            (word as i64) >> (64 - fixed.width + (word as u32 & 15).min(fixed.width - 2))
        };
        for sample in 0..SAMPLES {
            records.mac(draw(), draw(), draw())?;
            let op = SimdOp::ALL[sample % SimdOp::ALL.len()];
            let left = draw();
            let right = if sample % 32 < 16 { draw() } else { left };
            records.operation(op, left, right)?;
        }
    }
    records.out.flush()
}

/// Where they go.
struct Records<W> {
    out: W,
    format: NumberFormat,
}

impl<W: Write> Records<W> {
    fn mac(&mut self, left: i64, right: i64, addend: i64) -> io::Result<()> {
        let NumberFormat::Fixed(fixed) = self.format else { return Ok(()) };
        self.write([MAC, left as i32, right as i32, addend as i32, fixed.mac(left, right, addend) as i32])
    }

    fn operation(&mut self, op: SimdOp, left: i64, right: i64) -> io::Result<()> {
        if op == SimdOp::Lookup {
            return Ok(());
        }
        let (left, right) = (left as i32, right as i32);
        let out = operate_lane(self.format, op, left, right, &mut Saturations::default());
        self.write([op as i32, left, right, 0, out])
    }

    fn write(&mut self, record: [i32; 5]) -> io::Result<()> {
        record.iter().try_for_each(|number| self.out.write_all(&number.to_le_bytes()))
    }
}
