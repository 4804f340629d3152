//! Several arrays in a zip: [`read_npz`] and [`write_npz`], with names from [`member_names`].

use std::collections::HashSet;
use std::io::{Cursor, Read, Write};

use npukit_base::is_printable;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::npy::{NpyArray, NpyError, NpyErrorKind, read_npy, write_npy};
use crate::tensor::Tensor;

/// Unpacked size that every archive may have, in bytes.
const UNPACKED_BYTES: u64 = 256 << 20;
/// Largest ratio of unpacked to packed size of a larger archive.
const UNPACKED_TIMES: u64 = 64;

/// Reads all arrays, with their names (without `.npy`), in the order of the archive. `file` is used
/// in errors.
///
/// # Errors
///
/// [`NpyError`] for the first array that cannot be read; [`NpyErrorKind::Unpacked`] if all arrays
/// together unpack to more than 256 MiB and more than 64 times the archive's size.
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
        // Reading one byte more than allowed distinguishes an archive at the limit from one beyond
        // it.
        let read = entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut values);
        read.map_err(|error| NpyErrorKind::Zip { reason: error.to_string() }.at(&path, values.len()))?;
        let too_much = || NpyErrorKind::Unpacked { limit, packed: bytes.len() }.at(&path, values.len());
        left = left.checked_sub(values.len() as u64).ok_or_else(too_much)?;
        arrays.push((name, read_npy(&path, &values)?));
    }
    Ok(arrays)
}

/// Returns safe and unique names for arrays in an `.npz`. No path leaves the folder that the
/// archive is unpacked in, no name has control characters or is too long for a file system, and all
/// names differ.
///
/// ```
/// # use npukit_numeric::npy::member_names;
/// assert_eq!(member_names(["dense/y:0", "../../y", "a\u{1b}"]), ["dense/y:0", "__/__/y", "a_"]);
/// ```
pub fn member_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut unique = |name: &str| {
        let safe = safe_name(name);
        let further = (2..).map(|number| format!("{safe}_{number}"));
        let mut free = std::iter::once(safe.clone()).chain(further).filter(|name| !taken.contains(name));
        // There is always a next number.
        let free = free.next().unwrap_or(safe);
        taken.insert(free.clone());
        free
    };
    names.into_iter().map(&mut unique).collect()
}

/// Maximum number of bytes of a path component: file systems allow 255, including `.npy`.
const MAX_PART: usize = 200;
/// Maximum number of bytes of a name.
const MAX_NAME: usize = 4096;

fn safe_name(name: &str) -> String {
    let plain = |c: char| if is_printable(c) && c != '\\' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let part = |(place, part): (usize, &str)| match part {
        // A leading slash means the root; inside a path, two slashes are equal to one.
        "" if place == 0 => "_".to_owned(),
        "." | ".." => "_".repeat(part.len()),
        _ => cut(part, MAX_PART).to_owned(),
    };
    let safe = name.split('/').enumerate().map(part).collect::<Vec<_>>().join("/");
    cut(&safe, MAX_NAME).trim_end_matches('/').to_owned()
}

/// Returns the text up to `most` bytes, in whole characters.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the bytes of an `.npz` with named arrays, without compression, like NumPy's `savez`.
///
/// # Errors
///
/// [`NpyErrorKind::Zip`] if a name appears twice or is too long for a zip.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stay_in_their_folder_and_apart() {
        let long = "x".repeat(5000);
        let names =
            ["", ".", "..", "/etc/x", "C:\\x", "a/../b", "a/__/b", "a\u{9b}2J", "a\u{202e}", "y", "y", &long];
        let members = member_names(names);
        for (name, member) in names.iter().zip(&members) {
            assert!(
                member.split('/').all(|part| !["", ".", ".."].contains(&part) && part.len() < 250),
                "{name}"
            );
            assert!(!member.contains(|c: char| !is_printable(c) || c == '\\'), "{name}");
        }
        let distinct: HashSet<&String> = members.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{members:?}");
        assert_eq!(member_names(["model/y:0", "\u{e9}", "a//b"]), ["model/y:0", "\u{e9}", "a//b"]);
    }
}
