//! Writes the contents of a range to a file: [`written`].

use std::fmt::Write;

use npukit_numeric::npy::{NpyArray, NpyData, write_npy, write_npz};

use super::memory_dump::MemoryDump;
use crate::error::Error;
use crate::targets::has_extension;

/// Returns the file at `path` in the format of its extension, one row per address. It has real
/// values if the memory has them, and integers if `raw`; `.hex` always has the bits.
pub(crate) fn written(
    held: &MemoryDump,
    path: &str,
    raw: bool,
    bits: impl Fn(i64) -> u64,
) -> Result<Vec<u8>, Error> {
    let real = held.real.as_deref().filter(|_| !raw);
    let lanes = held.lanes.max(1);
    let rows = (held.end - held.start) as usize;
    let shape = [rows, lanes];
    let floats: Option<Vec<f32>> = real.map(|real| real.iter().map(|&value| value as f32).collect());
    let data = floats.as_ref().map_or(NpyData::I64(&held.raw), |floats| NpyData::F32(floats));
    let array = NpyArray::new(if lanes == 1 { &shape[..1] } else { &shape }, data);
    let misfit = || Error::Output {
        name: held.name.clone(),
        reason: format!("its values do not match the shape {shape:?}"),
    };
    if has_extension(path, "npy") {
        return Ok(write_npy(array.ok_or_else(misfit)?));
    }
    if has_extension(path, "npz") {
        let member = held.memory.replace(' ', "_");
        return Ok(write_npz(&[(&member, array.ok_or_else(misfit)?)])?);
    }
    let lines = |text: &dyn Fn(usize) -> String, between: &str| {
        let mut all = String::new();
        for row in 0..rows {
            let fields: Vec<String> = (row * lanes..(row + 1) * lanes).map(text).collect();
            // Writing to a string cannot fail.
            let _written = writeln!(all, "{}", fields.join(between));
        }
        all.into_bytes()
    };
    if has_extension(path, "csv") {
        let text = |at: usize| match real {
            Some(real) => format!("{:?}", real[at]),
            None => held.raw[at].to_string(),
        };
        return Ok(lines(&text, ","));
    }
    if has_extension(path, "hex") {
        let digits = held.bits.div_ceil(4) as usize;
        return Ok(lines(&|at| format!("{:0digits$x}", bits(held.raw[at])), " "));
    }
    Err(Error::UnknownDump { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn held() -> MemoryDump {
        MemoryDump {
            name: "m".into(),
            memory: "m".into(),
            start: 0,
            end: 2,
            lanes: 2,
            bits: 16,
            file: None,
            raw: vec![1, -1, 256, 0],
            real: Some(vec![1.0 / 256.0, -1.0 / 256.0, 1.0, 0.0]),
            count: 4,
        }
    }

    #[test]
    fn an_address_is_a_row() {
        let text = |path, raw| {
            String::from_utf8(written(&held(), path, raw, |number| number as u64 & 0xffff).unwrap()).unwrap()
        };
        assert_eq!(text("x.csv", true), "1,-1\n256,0\n");
        assert_eq!(text("x.csv", false), "0.00390625,-0.00390625\n1.0,0.0\n");
        assert_eq!(text("x.hex", false), "0001 ffff\n0100 0000\n");
        assert!(matches!(written(&held(), "x.txt", false, |n| n as u64), Err(Error::UnknownDump { .. })));
    }
}
