//! [`arrays`]: NumPy files, and the text and sample formats that programs read.

use npukit_numeric::Tensor;
use npukit_numeric::npy::{NpyArray, read_npy, read_npz, write_npy, write_npz};
use npukit_target::TimeOptions;

use crate::artifacts::good;
use crate::{check_message, message};

/// Readers: `n`: `.npy`; `z`: `.npz`; `c`: vectors as text for tcu; `i`: a memory image for drra;
/// `s`: output of tcu's sampling unit.
///
/// Arrays are written again, and must be read back unchanged.
pub fn arrays(input: &[u8]) {
    match input {
        [b'n', bytes @ ..] => match read_npy("x.npy", bytes) {
            Ok(tensor) => again(&tensor),
            Err(error) => check_message("x.npy", &error),
        },
        [b'z', bytes @ ..] => match read_npz("x.npz", bytes) {
            Ok(arrays) => all_again(&arrays),
            Err(error) => drop(message(&error)),
        },
        [b'c', bytes @ ..] => text(b't', "x.csv", bytes),
        [b'i', bytes @ ..] => text(b'd', "x.bin", bytes),
        [b's', bytes @ ..] => {
            if let Err(error) = good(b't').time_samples("x.samples", bytes, &TimeOptions::default()) {
                check_message("x.samples", &error);
            }
        }
        _ => {}
    }
}

fn text(target: u8, name: &str, bytes: &[u8]) {
    match good(target).read_text(name, bytes) {
        Ok(tensor) => again(&tensor),
        Err(error) => check_message(name, &error),
    }
}

/// Compares bytes, as NaN is not equal to itself.
fn again(tensor: &Tensor) {
    let written = write_npy(NpyArray::from(tensor));
    let read = read_npy("again.npy", &written).unwrap_or_else(|error| panic!("not read again: {error}"));
    assert_eq!((tensor.shape(), tensor.element()), (read.shape(), read.element()));
    assert_eq!(written, write_npy(NpyArray::from(&read)));
}

fn all_again(arrays: &[(String, Tensor)]) {
    arrays.iter().for_each(|(_, tensor)| again(tensor));
    let named: Vec<_> = arrays.iter().map(|(name, tensor)| (name.as_str(), NpyArray::from(tensor))).collect();
    let Ok(written) = write_npz(&named) else { return };
    let read = read_npz("again.npz", &written).unwrap_or_else(|error| panic!("not read again: {error}"));
    assert!(arrays.iter().map(|(name, _)| name).eq(read.iter().map(|(name, _)| name)), "names change");
}
