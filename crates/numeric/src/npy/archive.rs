//! Several arrays in a zip: [`read_npz`] and [`write_npz`].

use std::io::{Cursor, Read, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::npy::{NpyArray, NpyError, NpyErrorKind, read_npy, write_npy};
use crate::tensor::Tensor;

/// What any archive may unpack to.
const UNPACKED_BYTES: u64 = 256 << 20;
/// How many times its own size a larger archive may unpack to.
const UNPACKED_TIMES: u64 = 64;

/// Reads all arrays, with their names (without `.npy`), in the order of the archive. `file` is for errors.
///
/// Errors: [`NpyError`] at the first array that cannot be read; [`NpyErrorKind::Unpacked`] when
/// all together unpack to more than 256 MiB and more than 64 times the archive's size.
pub fn read_npz(file: &str, bytes: &[u8]) -> Result<Vec<(String, Tensor)>, NpyError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(file, &error))?;
    let limit = UNPACKED_BYTES.max(UNPACKED_TIMES.saturating_mul(bytes.len() as u64));
    let mut left = limit;
    let mut arrays = Vec::new();
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(|error| broken(file, &error))?;
        let path = format!("{file}: {}", entry.name());
        let name = entry.name().strip_suffix(".npy").map(str::to_owned);
        let name = name.ok_or_else(|| NpyErrorKind::NotAnArray.at(&path, 0))?;
        let mut values = Vec::new();
        // One byte more than allowed tells an archive at the limit from one beyond it.
        let read = entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut values);
        read.map_err(|error| NpyErrorKind::Zip { reason: error.to_string() }.at(&path, values.len()))?;
        let too_much = || NpyErrorKind::Unpacked { limit, packed: bytes.len() }.at(&path, values.len());
        left = left.checked_sub(values.len() as u64).ok_or_else(too_much)?;
        arrays.push((name, read_npy(&path, &values)?));
    }
    Ok(arrays)
}

/// The bytes of an `.npz` of named arrays, stored without compression as NumPy's `savez` does.
///
/// Errors: [`NpyErrorKind::Zip`] when a name appears twice or is too long for a zip.
pub fn write_npz(arrays: &[(&str, NpyArray<'_>)]) -> Result<Vec<u8>, NpyError> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for &(name, array) in arrays {
        let bytes = write_npy(array);
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(u32::try_from(bytes.len()).is_err());
        let name = format!("{name}.npy");
        archive.start_file(name.as_str(), options).map_err(|error| broken(&name, &error))?;
        archive.write_all(&bytes).map_err(|error| broken(&name, &error.into()))?;
    }
    let bytes = archive.finish().map_err(|error| broken("npz", &error))?;
    Ok(bytes.into_inner())
}

fn broken(name: &str, error: &ZipError) -> NpyError {
    NpyErrorKind::Zip { reason: error.to_string() }.at(name, 0)
}
