//! [`read`]: reads input files as [`Offer`]s: data, and the input it is for.

use npukit_numeric::Tensor;
use npukit_numeric::npy::{read_npy, read_npz};
use npukit_target::Reader;

use super::folder::of_folder;
use super::media::{Given, Media, media, one};
use super::{InputFile, ReadText};
use crate::error::Error;
use crate::targets::has_extension;

/// Data from a file.
#[derive(Debug)]
pub(super) struct Offer {
    /// Name of the input it is for; `None` for the next input.
    pub name: Option<String>,
    /// Whether the caller gave the name, rather than the file.
    pub is_asked: bool,
    pub given: Given,
}

/// Start of a path that means random numbers; a seed follows.
const RANDOM: &str = "random:";
/// Path that means standard input.
const NAMELESS: &str = "-";
/// Extensions of text files that targets read: tables, and memory images in digits.
const TEXTS: [&str; 2] = ["csv", "bin"];

/// Reads a file, or a folder of images or audio. Files of the folder that were skipped are reported
/// in `notes`.
pub(super) fn read(
    file: &InputFile,
    reader: &dyn Reader,
    read_text: Option<&ReadText<'_>>,
    notes: &mut Vec<String>,
) -> Result<Vec<Offer>, Error> {
    let InputFile { name, path, array } = file;
    let offer = |given| Offer { name: name.clone(), is_asked: name.is_some(), given };
    if let Some(array) = array {
        return Ok(vec![offer(Given::Array(Tensor::clone(array)))]);
    }
    let unknown = |legal| Err(Error::UnknownInput { path: path.clone(), legal });
    if let Some(seed) = path.strip_prefix(RANDOM) {
        return match seed.parse() {
            Ok(seed) => Ok(vec![offer(Given::Random(seed))]),
            Err(_) => {
                unknown(".npy, .npz, .png, .jpg and .wav; the seed after `random:` is a whole number from 0")
            }
        };
    }
    if Some(path.as_str()) == RANDOM.strip_suffix(':') && reader.list(path).is_err() {
        return unknown(".npy, .npz, .png, .jpg and .wav; random numbers need a seed: `random:1`");
    }
    if path == NAMELESS {
        return nameless(file, reader.read(path)?);
    }
    if has_extension(path, "npy") {
        return Ok(vec![offer(Given::Array(read_npy(path, &reader.read(path)?)?))]);
    }
    if has_extension(path, "npz") {
        return Ok(members(name.as_deref(), read_npz(path, &reader.read(path)?)?));
    }
    let text = TEXTS.iter().any(|text| has_extension(path, text));
    match (media(path), read_text) {
        (Some(kind), _) => Ok(vec![offer(kind.given(vec![one(path, reader)?]))]),
        (None, Some(read_text)) if text => {
            Ok(vec![offer(Given::Rows(read_text(path, &reader.read(path)?)?))])
        }
        _ => match (of_folder(path, reader, notes)?, read_text) {
            (Some(given), _) => Ok(vec![offer(given)]),
            (None, Some(_)) => unknown(
                ".npy, .npz, .csv, .bin, .png, .jpg and .wav; a folder of images or audio is legal too",
            ),
            (None, None) => {
                unknown(".npy, .npz, .png, .jpg and .wav; a folder of images or audio is legal too")
            }
        },
    }
}

/// Recognizes a file without a name by its content.
fn nameless(InputFile { name, path, .. }: &InputFile, bytes: Vec<u8>) -> Result<Vec<Offer>, Error> {
    let offer = |given| Ok(vec![Offer { name: name.clone(), is_asked: name.is_some(), given }]);
    let media = |bytes| vec![Media { path: path.clone(), bytes }];
    match bytes.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => offer(Given::Array(read_npy(path, &bytes)?)),
        [b'P', b'K', 3, 4, ..] => Ok(members(name.as_deref(), read_npz(path, &bytes)?)),
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, 0xff, ..] => offer(Given::Pictures(media(bytes))),
        [b'R', b'I', b'F', b'F', ..] => offer(Given::Sounds(media(bytes))),
        _ => Err(Error::UnknownInput {
            path: path.clone(),
            legal: ".npy, .npz, .png, .jpg or .wav (recognized by content)",
        }),
    }
}

/// Reads the arrays of an `.npz` file: a single one is for the input that the caller names, several
/// are for the inputs of their names.
fn members(name: Option<&str>, arrays: Vec<(String, Tensor)>) -> Vec<Offer> {
    let asked = name.filter(|_| arrays.len() == 1);
    let offer = |(array, tensor): (String, Tensor)| Offer {
        name: Some(asked.map_or(array, str::to_owned)),
        is_asked: asked.is_some(),
        given: Given::Array(tensor),
    };
    arrays.into_iter().map(offer).collect()
}

/// Joins images or audio files that follow each other for the same input.
pub(super) fn joined(offers: Vec<Offer>, inputs: usize) -> Vec<Offer> {
    let mut all: Vec<Offer> = Vec::new();
    for offer in offers {
        let last = all.iter_mut().rev().find(|last| last.name == offer.name);
        // Unnamed files are for one input each if there are several inputs.
        let last = last.filter(|last| last.name.is_some() || inputs == 1);
        match (last.map(|last| &mut last.given), offer.given) {
            (Some(Given::Pictures(all)), Given::Pictures(more)) => all.extend(more),
            (Some(Given::Sounds(all)), Given::Sounds(more)) => all.extend(more),
            (_, given) => all.push(Offer { given, ..offer }),
        }
    }
    all
}
