//! Results of the literal arithmetic of `npukit-numeric`, for comparison with the independent
//! definition in `rtl/formal/tcu_literal.sv`. `literal FORMAT` writes records of five little-endian
//! 32-bit integers: operation (16 is `mac`), left, right, addend and result. For 8 bits it writes
//! all combinations, for wider formats ten million random ones of each kind.

use std::io::{self, BufWriter, Write};

use npukit_numeric::{NumberFormat, Saturations, SplitMix64};
use npukit_tcu::DataType;
use npukit_tcu::internals::alu::operate_lane;
use npukit_tcu::internals::op::SimdOp;

/// Operation number of `mac`.
const MAC: i32 = 16;
/// Number of random samples per kind, for formats with too many numbers to try all.
const SAMPLES: usize = 10_000_000;

fn main() -> io::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default(); // Default: an empty name, which no format has.
    let Some(data_type) = DataType::from_name(&name) else {
        return Err(io::Error::other(format!("no number format is called `{name}`")));
    };
    let format = data_type.format();
    let mut records = Records { out: BufWriter::new(io::stdout().lock()), format };
    let NumberFormat::Fixed(fixed) = format else {
        return floats(&mut records);
    };
    if fixed.width <= 8 {
        let all = || fixed.min()..=fixed.max();
        for (left, right) in all().flat_map(|left| all().map(move |right| (left, right))) {
            all().try_for_each(|addend| records.mac(left, right, addend))?;
            SimdOp::ALL.iter().try_for_each(|&op| records.operation(op, left, right))?;
        }
    } else {
        let mut random = SplitMix64::new(1);
        // Small operands make it likely that sums and products stay within the number format.
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

/// Writes single-precision floats: random bits, operands with sums and products of ordinary size,
/// and operands that nearly cancel.
fn floats<W: Write>(records: &mut Records<W>) -> io::Result<()> {
    let mut random = SplitMix64::new(1);
    let mut draw = || {
        let word = random.bits();
        let bits = word as u32;
        let near = bits & 0x80ff_ffff | (100 + (word >> 32) as u32 % 54) << 23;
        let tiny = bits & 0x81ff_ffff;
        let any = if f32::from_bits(bits).is_nan() { bits & 0x7f80_0000 } else { bits };
        i64::from([any, near, near, tiny][(word >> 60) as usize % 4])
    };
    for sample in 0..SAMPLES {
        let (left, right, addend) = (draw(), draw(), draw());
        let product = f32::from_bits(left as u32) * f32::from_bits(right as u32);
        let opposite = i64::from((-product).to_bits() ^ (addend as u32 & 3));
        let cancels = sample % 4 == 0 && !product.is_nan() && !f32::from_bits(opposite as u32).is_nan();
        records.mac(left, right, if cancels { opposite } else { addend })?;
        let op = SimdOp::ALL[sample % SimdOp::ALL.len()];
        let right = [right, left, left ^ (right & 3), left ^ 0x8000_0000][sample / 16 % 4];
        if !f32::from_bits(right as u32).is_nan() {
            records.operation(op, left, right)?;
        }
    }
    records.out.flush()
}

/// Writer of records.
struct Records<W> {
    out: W,
    format: NumberFormat,
}

impl<W: Write> Records<W> {
    fn mac(&mut self, left: i64, right: i64, addend: i64) -> io::Result<()> {
        let out = match self.format {
            NumberFormat::Fixed(fixed) => fixed.mac(left, right, addend) as i32,
            float => float.mac(left as i32, right as i32, addend as i32, &mut Saturations::default()),
        };
        self.write([MAC, left as i32, right as i32, addend as i32, out])
    }

    fn operation(&mut self, op: SimdOp, left: i64, right: i64) -> io::Result<()> {
        if op == SimdOp::Lookup {
            return Ok(());
        }
        let (left, right) = (left as i32, right as i32);
        let out = operate_lane(self.format, op, left, right, &mut Saturations::default());
        self.write([op as i32, left, right, 0, out])
    }

    fn write(&mut self, mut record: [i32; 5]) -> io::Result<()> {
        if self.format == NumberFormat::Float32 && f32::from_bits(record[4] as u32).is_nan() {
            // The circuit has one representation of NaN, so every NaN is recorded with the same
            // bits.
            record[4] = f32::NAN.to_bits() as i32;
        }
        record.iter().try_for_each(|number| self.out.write_all(&number.to_le_bytes()))
    }
}
