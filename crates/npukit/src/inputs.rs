//! Files of inputs: `.npy`, `.npz` and the target's own text, to samples for a program's ports.

use std::collections::BTreeMap;

use npukit_import::OpenInput;
use npukit_numeric::Tensor;
use npukit_numeric::npy::{member_names, read_npy, read_npz};
use npukit_target::{Port, PortError, Reader, TargetError};

use crate::error::Error;
use crate::targets::has_extension;

/// A file of inputs, as `NAME=FILE` or `FILE` on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The input it is for; the arrays' own names, else the order of the inputs, when not given.
    pub name: Option<String>,
    /// Where it is.
    pub path: String,
}

impl InputFile {
    /// What `text` on the command line means.
    pub fn parse(text: &str) -> Self {
        match text.split_once('=') {
            Some((name, path)) => Self { name: Some(name.to_owned()), path: path.to_owned() },
            None => Self { name: None, path: text.to_owned() },
        }
    }
}

/// Reads text files as input values.
pub(crate) type ReadText<'a> = dyn Fn(&str, &[u8]) -> Result<Tensor, TargetError> + 'a;

/// One sample: a tensor for each input, by name, in the order of the ports.
pub(crate) type Sample = Vec<(String, Tensor)>;

/// The samples in `files` for `ports`.
pub(crate) fn samples(
    files: &[InputFile],
    ports: &[Port],
    reader: &dyn Reader,
    read_text: Option<&ReadText<'_>>,
) -> Result<Vec<Sample>, Error> {
    let mut arrays = Vec::new();
    for file in files {
        arrays.extend(read(file, reader, read_text)?);
    }
    let slots = assign(arrays, &names(ports))?;
    let missing = |port: &Port| PortError::Missing { name: port.name.clone(), shape: port.shape.clone() };
    let filled = slots.into_iter().zip(ports).map(|(slot, port)| slot.ok_or_else(|| missing(port)));
    transpose(&filled.collect::<Result<Vec<_>, _>>()?, ports)
}

/// The shapes of samples for `inputs`, by name, as far as `files` are arrays whose axes are those of the inputs: with
/// the samples along the first of them, or along one more in front. An input of unknown axes has those of its array.
pub(crate) fn shapes(
    files: &[InputFile],
    inputs: &[OpenInput],
    reader: &dyn Reader,
) -> Result<BTreeMap<String, Vec<usize>>, Error> {
    let mut arrays = Vec::new();
    for file in files {
        match read(file, reader, None) {
            Ok(found) => arrays.extend(found.into_iter().map(|(name, array)| (name, array.shape().to_vec()))),
            // A text of the target's own, which does not say.
            Err(Error::UnknownInput { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let fit = |input: &OpenInput, shape: Vec<usize>| {
        let axes = input.dimensions.as_ref().map_or(shape.len(), Vec::len);
        match shape.len().checked_sub(axes)? {
            more @ 0..=1 => Some((input.name.clone(), shape[more..].to_vec())),
            _ => None,
        }
    };
    let shapes = assign(arrays, &names)?.into_iter().zip(inputs);
    Ok(shapes.filter_map(|(shape, input)| fit(input, shape?)).collect())
}

fn names(ports: &[Port]) -> Vec<&str> {
    ports.iter().map(|port| port.name.as_str()).collect()
}

/// Endings of texts that targets read: tables, and images of memories in digits.
const TEXTS: [&str; 2] = ["csv", "bin"];

/// The arrays of a file, with the names they are for.
fn read(
    file: &InputFile,
    reader: &dyn Reader,
    read_text: Option<&ReadText<'_>>,
) -> Result<Vec<(Option<String>, Tensor)>, Error> {
    let InputFile { name, path } = file;
    let bytes = reader.read(path)?;
    if has_extension(path, "npy") {
        return Ok(vec![(name.clone(), read_npy(path, &bytes)?)]);
    }
    if has_extension(path, "npz") {
        let arrays = read_npz(path, &bytes)?;
        let only = arrays.len() == 1;
        let named = |array: String| if only { name.clone().or(Some(array)) } else { Some(array) };
        return Ok(arrays.into_iter().map(|(array, tensor)| (named(array), tensor)).collect());
    }
    match read_text {
        Some(read_text) if TEXTS.iter().any(|text| has_extension(path, text)) => {
            Ok(vec![(name.clone(), read_text(path, &bytes)?)])
        }
        Some(_) => Err(Error::UnknownInput { path: path.clone(), legal: ".npy, .npz, .csv or .bin" }),
        None => Err(Error::UnknownInput { path: path.clone(), legal: ".npy or .npz" }),
    }
}

/// What there is for each of the inputs called `names`: named ones first, the others in order.
fn assign<T>(arrays: Vec<(Option<String>, T)>, names: &[&str]) -> Result<Vec<Option<T>>, Error> {
    let mut slots: Vec<Option<T>> = names.iter().map(|_| None).collect();
    let members = member_names(names.iter().copied());
    let (named, unnamed): (Vec<_>, Vec<_>) = arrays.into_iter().partition(|(name, _)| name.is_some());
    for (name, array) in named {
        let name = name.expect("those without a name are in the other part");
        let place = names.iter().position(|known| *known == name);
        // Our own `.npz` has another name where the input's is not one for files.
        let place = place.or_else(|| members.iter().position(|member| *member == name));
        // An array saved without a name of its own (`arr_0`) is for the only input there is.
        let place = place.or_else(|| (names.len() == 1 && name == "arr_0").then_some(0));
        match place {
            Some(place) if slots[place].is_some() => {
                return Err(PortError::Twice { name: names[place].to_owned() }.into());
            }
            Some(place) => slots[place] = Some(array),
            None => return Err(unknown(name, names).into()),
        }
    }
    for (_, array) in unnamed {
        match slots.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => *slot = Some(array),
            None => return Err(unknown("(one more file)".to_owned(), names).into()),
        }
    }
    Ok(slots)
}

fn unknown(name: String, names: &[&str]) -> PortError {
    let known = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    PortError::Unknown { name, known }
}

/// Batches by port to ports by sample.
fn transpose(tensors: &[Tensor], ports: &[Port]) -> Result<Vec<Sample>, Error> {
    // Whoever takes no inputs has one sample.
    let mut samples: Vec<Sample> = vec![Vec::new(); usize::from(ports.is_empty())];
    for (i, (port, tensor)) in ports.iter().zip(tensors).enumerate() {
        let parts = port.split(tensor)?;
        if i == 0 {
            samples.resize(parts.len(), Vec::new());
        }
        if parts.len() != samples.len() {
            let (actual, expected) = (parts.len(), samples.len());
            return Err(PortError::Samples { name: port.name.clone(), actual, expected }.into());
        }
        for (sample, part) in samples.iter_mut().zip(parts) {
            sample.push((port.name.clone(), part));
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use npukit_numeric::npy::{NpyArray, NpyData, write_npy, write_npz};
    use npukit_target::ReadError;

    fn file(path: &str) -> Result<Vec<u8>, ReadError> {
        let (a, b) = ([0f32; 6], [1f32; 4]);
        let a = || NpyArray::new(&[3, 2], NpyData::F32(&a)).unwrap();
        let b = || NpyArray::new(&[2, 2], NpyData::F32(&b)).unwrap();
        match path {
            "a.npy" => Ok(write_npy(a())),
            "b.npy" => Ok(write_npy(b())),
            "ab.npz" => Ok(write_npz(&[("q", a()), ("p", a())]).unwrap()),
            _ => Err(ReadError::Absent { path: path.to_owned() }),
        }
    }

    fn ports(names: &[&str]) -> Vec<Port> {
        names.iter().map(|&n| Port { name: n.to_owned(), shape: vec![1, 2], vectors: None }).collect()
    }

    fn read(files: &[&str], names: &[&str]) -> Result<Vec<Sample>, Error> {
        let files: Vec<InputFile> = files.iter().map(|text| InputFile::parse(text)).collect();
        samples(&files, &ports(names), &file, None)
    }

    #[test]
    fn files_are_for_inputs_by_name_then_by_order() {
        let samples = read(&["p=a.npy", "a.npy"], &["q", "p"]).unwrap();
        assert_eq!(samples.len(), 3);
        assert_eq!(samples[0].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["q", "p"]);
        assert_eq!(read(&["ab.npz"], &["p", "q"]).unwrap().len(), 3);
    }

    #[test]
    fn names_that_are_not_for_files_are_found_under_their_safe_ones() {
        let file = |_: &str| {
            let values = [0f32; 2];
            let array = NpyArray::new(&[1, 2], NpyData::F32(&values)).unwrap();
            Ok(write_npz(&[("__/y", array), ("x", array)]).unwrap())
        };
        let files = [InputFile::parse("ours.npz")];
        let samples = samples(&files, &ports(&["x", "../y"]), &file, None).unwrap();
        assert_eq!(samples[0][1].0, "../y");
    }

    #[test]
    fn no_inputs_are_one_sample() {
        assert_eq!(read(&[], &[]).unwrap(), [Vec::new()]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let text = |files: &[&str], names: &[&str]| read(files, names).unwrap_err().to_string();
        assert!(text(&["x=a.npy"], &["p"]).contains("no input `x`; the program has `p`"));
        assert!(text(&["a.npy"], &["p", "q"]).contains("input `q` of shape [1, 2] is not given"));
        assert!(text(&["a.npy", "b.npy"], &["p", "q"]).contains("input `q` holds 2 samples, the others 3"));
        assert!(text(&["a.npy", "b.npy"], &["p"]).contains("one more file"));
        assert!(text(&["p=a.npy", "p=b.npy"], &["p", "q"]).contains("input `p` is given twice"));
        assert!(text(&["a.csv"], &["p"]).contains("a.csv"));
    }
}
