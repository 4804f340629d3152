//! Input files: arrays, images, audio and the target's text format, converted to samples for a
//! program's inputs.
//!
//! The module [`read`] reads files, [`assign`] finds the input that each is for, [`image`] and
//! [`audio`] decode media for it, [`fit`] splits arrays into samples, and [`preprocess`] changes
//! their values. [`lend`] takes shapes from them for the model.

mod assign;
mod audio;
mod exif;
mod fit;
mod folder;
mod image;
mod jpeg;
mod lend;
pub(crate) mod made_up;
mod media;
mod pixels;
mod png;
mod preprocess;
mod random;
mod read;
mod resize;
mod sample;
pub(crate) mod wanted;

use std::sync::Arc;

use npukit_numeric::{ElementType, Tensor};
use npukit_target::{Phase, PortError, Reader, TargetError};

use crate::error::Error;
use crate::run::stateful::States;
use assign::assign;
pub(crate) use lend::{names, shapes};
use media::{Given, Media};
pub use preprocess::Preprocess;
use read::{Offer, joined};
pub(crate) use sample::Sample;
use wanted::Wanted;

/// File of inputs, given as `NAME=FILE` or `FILE` on the command line, or an array in memory. The
/// path `random:SEED` means random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct InputFile {
    /// Input that it is for. `None`: the names of its arrays, otherwise the order of the inputs,
    /// decide.
    pub name: Option<String>,
    /// Path of a file, or of a folder of images or audio files.
    pub path: String,
    /// Array in memory. If given, no file is read, and `path` only names it in messages.
    pub array: Option<Arc<Tensor>>,
}

impl InputFile {
    /// Parses `[NAME=]FILE` from the command line. A text that begins with `./` or `../` is always
    /// a file name.
    pub fn parse(text: &str) -> Self {
        let is_file = text.starts_with("./") || text.starts_with("../");
        match text.split_once('=').filter(|_| !is_file) {
            Some((name, path)) => Self::new(Some(name), path),
            None => Self::new(None, text),
        }
    }

    /// Wraps an array for the input `name`, or for the next input if `None`.
    pub fn of_array(name: Option<&str>, array: Tensor) -> Self {
        // Default: an array without a name is called `array` in messages.
        Self { array: Some(Arc::new(array)), ..Self::new(name, name.unwrap_or("array")) }
    }

    /// Names the file or folder at `path` for the input `name`, or for the next input if `None`.
    pub fn new(name: Option<&str>, path: &str) -> Self {
        Self { name: name.map(str::to_owned), path: path.to_owned(), array: None }
    }
}

/// Function that reads the target's text files as input values.
pub(crate) type ReadText<'a> = dyn Fn(&str, &[u8]) -> Result<Tensor, TargetError> + 'a;

/// Samples, and notes on files whose interpretation is not obvious.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub samples: Vec<Sample>,
    pub notes: Vec<String>,
}

/// Reads and preprocesses the samples in `files` for `inputs`.
pub(crate) fn samples(
    files: &[InputFile],
    inputs: &[Wanted],
    preprocess: &Preprocess,
    reader: &dyn Reader,
    read_text: Option<&ReadText<'_>>,
) -> Result<Samples, Error> {
    samples_of_calls(files, inputs, preprocess, reader, read_text, None)
}

/// Like [`samples`], for a sequence of calls if `states` is not empty. States need not be given;
/// values given for them are for the first call.
pub(crate) fn samples_of_calls(
    files: &[InputFile],
    inputs: &[Wanted],
    preprocess: &Preprocess,
    reader: &dyn Reader,
    read_text: Option<&ReadText<'_>>,
    states: Option<&States>,
) -> Result<Samples, Error> {
    let _phase = Phase::begin("read samples");
    preprocess.check()?;
    if !preprocess.is_nothing() && !inputs.iter().any(Wanted::is_real) {
        return Err(Error::Preprocess { reason: "no input has real numbers".to_owned() });
    }
    let mut notes = Vec::new();
    let offers = offers(files, inputs.len(), reader, read_text, &mut notes)?;
    let names: Vec<&str> = inputs.iter().map(|input| input.port.name.as_str()).collect();
    let (offers, seed) = random::apart(offers);
    let slots = assign(offers, &names, &mut notes)?;
    let Parts { mut parts, begins, drawn } = Parts::of(slots, inputs, seed, states, preprocess, &mut notes)?;
    let others =
        (0..parts.len()).filter(|index| !begins.contains(index)).map(|index| parts[index].len()).max();
    let count = others.filter(|&count| count > 0).unwrap_or(preprocess.samples.unwrap_or(1)); // Default: one.
    for (index, seed) in drawn {
        let input = &inputs[index];
        let made = random::samples(input, index, seed, count, &preprocess.ranges, &mut notes);
        let misfit = || PortError::Missing { name: input.port.name.clone(), shape: input.port.shape.clone() };
        parts[index] = made.ok_or_else(misfit)?;
    }
    // Default: a network that has only states is called once.
    let calls =
        (0..parts.len()).filter(|index| !begins.contains(index)).map(|index| parts[index].len()).max();
    for index in begins {
        // Later calls take a state from the previous call.
        let first = parts[index].first().cloned();
        parts[index] = first.into_iter().cycle().take(calls.unwrap_or(1)).collect();
    }
    notes.extend(states.into_iter().flat_map(States::notes));
    Ok(Samples { samples: transpose(parts, &names)?, notes })
}

/// Samples of each input.
#[derive(Default)]
struct Parts {
    parts: Vec<Vec<Tensor>>,
    /// Inputs with a single sample for all calls.
    begins: Vec<usize>,
    /// Random inputs, which have no samples yet, with their seeds.
    drawn: Vec<(usize, u64)>,
}

impl Parts {
    /// Collects what `slots` give each input; `seed` is for inputs without anything else.
    fn of(
        slots: Vec<Option<Given>>,
        inputs: &[Wanted],
        seed: Option<u64>,
        states: Option<&States>,
        preprocess: &Preprocess,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let Self { mut parts, mut begins, mut drawn } = Self::default();
        for (slot, input) in slots.into_iter().zip(inputs) {
            let port = &input.port;
            let missing = || PortError::Missing { name: port.name.clone(), shape: port.shape.clone() };
            let is_state = states.is_some_and(|states| states.feeds(&port.name));
            let is_known = is_state || input.initial.is_some();
            let seed = seed.filter(|_| !is_known).map(Given::Random);
            parts.push(match slot.or(seed) {
                Some(Given::Random(seed)) => {
                    drawn.push((parts.len(), seed));
                    Vec::new()
                }
                Some(given) => fitted(given, input, preprocess, notes)?,
                None => {
                    begins.push(parts.len());
                    // Default: a program that does not specify its type takes real numbers.
                    let element = input.element.unwrap_or(ElementType::F32);
                    let zeros = || made_up::zeros(&port.shape, element).filter(|_| is_state);
                    vec![input.initial.clone().or_else(zeros).ok_or_else(missing)?]
                }
            });
            if is_state {
                begins.push(parts.len() - 1);
            }
        }
        Ok(Self { parts, begins, drawn })
    }
}

/// Collects what the files offer for each of the inputs.
fn offers(
    files: &[InputFile],
    inputs: usize,
    reader: &dyn Reader,
    read_text: Option<&ReadText<'_>>,
    notes: &mut Vec<String>,
) -> Result<Vec<Offer>, Error> {
    let mut offers = Vec::new();
    for file in files {
        offers.extend(read::read(file, reader, read_text, notes)?);
    }
    Ok(joined(offers, inputs))
}

/// Returns the samples for an input.
fn fitted(
    given: Given,
    input: &Wanted,
    preprocess: &Preprocess,
    notes: &mut Vec<String>,
) -> Result<Vec<Tensor>, Error> {
    let most = preprocess.samples.unwrap_or(usize::MAX); // Default: all samples.
    let first = |mut media: Vec<Media>| {
        media.truncate(most);
        media
    };
    let mut samples = match given {
        Given::Array(tensor) => fit::fit(tensor, input, preprocess, notes)?,
        Given::Rows(rows) => fit::fit_rows(rows, input, preprocess, notes)?,
        Given::Pictures(pictures) => {
            let array = image::tensor(&first(pictures), input, preprocess, notes)?;
            fit::fit(array, input, preprocess, notes)?
        }
        Given::Sounds(sounds) => {
            fit::fit(audio::tensor(&first(sounds), input, notes)?, input, preprocess, notes)?
        }
        Given::Random(_) => Vec::new(), // Drawn once the number of samples is known.
    };
    samples.truncate(most);
    Ok(samples)
}

/// Transposes samples by input to inputs by sample.
fn transpose(parts: Vec<Vec<Tensor>>, names: &[&str]) -> Result<Vec<Sample>, Error> {
    // A network without inputs has one sample.
    let count = parts.first().map_or(1, Vec::len);
    let mut samples: Vec<Sample> = vec![Vec::new(); count];
    for (parts, name) in parts.into_iter().zip(names) {
        if parts.len() != count {
            let (name, actual, expected) = ((*name).to_owned(), parts.len(), count);
            return Err(PortError::Samples { name, actual, expected }.into());
        }
        for (sample, part) in samples.iter_mut().zip(parts) {
            sample.push(((*name).to_owned(), part));
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use npukit_numeric::npy::{NpyArray, NpyData, write_npy, write_npz};
    use npukit_target::{Port, ReadError};

    #[test]
    fn paths_may_have_equal_signs() {
        let parsed = |text: &str| {
            let InputFile { name, path, .. } = InputFile::parse(text);
            (name.unwrap_or_default(), path)
        };
        assert_eq!(parsed("x=a.npy"), ("x".to_owned(), "a.npy".to_owned()));
        assert_eq!(parsed("./a=b.npy"), (String::new(), "./a=b.npy".to_owned()));
        assert_eq!(parsed("x=./a=b.npy"), ("x".to_owned(), "./a=b.npy".to_owned()));
    }

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

    fn inputs(names: &[&str]) -> Vec<Wanted> {
        let port = |&n: &&str| Port { name: n.to_owned(), shape: vec![1, 2], vectors: None, element: None };
        wanted::of_ports(names.iter().map(port).collect(), None)
    }

    fn read(files: &[&str], names: &[&str]) -> Result<Vec<Sample>, Error> {
        let files: Vec<InputFile> = files.iter().map(|text| InputFile::parse(text)).collect();
        samples(&files, &inputs(names), &Preprocess::default(), &file, None).map(|samples| samples.samples)
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
        let inputs = inputs(&["x", "../y"]);
        let samples = samples(&files, &inputs, &Preprocess::default(), &file, None).unwrap();
        assert_eq!(samples.samples[0][1].0, "../y");
    }

    #[test]
    fn no_inputs_are_one_sample() {
        assert_eq!(read(&[], &[]).unwrap(), [Vec::new()]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let text = |files: &[&str], names: &[&str]| read(files, names).unwrap_err().to_string();
        assert!(text(&["x=a.npy"], &["p"]).contains("unknown input `x`; the program has `p`"));
        assert!(text(&["a.npy"], &["p", "q"]).contains("missing input `q` of shape [1, 2]"));
        assert!(text(&["a.npy", "b.npy"], &["p", "q"]).contains("input `q` holds 2 samples, the others 3"));
        assert!(text(&["a.npy", "b.npy"], &["p"]).contains("one more file"));
        assert!(text(&["p=a.npy", "p=b.npy"], &["p", "q"]).contains("input `p` is given twice"));
        assert!(text(&["a.csv"], &["p"]).contains("a.csv"));
    }

    /// Returns the notes for one file read for one input of a shape.
    fn notes(path: &str, shape: &[usize]) -> Result<Vec<String>, String> {
        let files = |path: &str| {
            let (a, bytes) = ([0f32; 6], [0u8; 6]);
            let array = NpyArray::new(&[3, 2], NpyData::F32(&a)).unwrap();
            match path {
                "one.npz" => Ok(write_npz(&[("images", array)]).unwrap()),
                "two.npz" => Ok(write_npz(&[("images", array), ("labels", array)]).unwrap()),
                _ => Ok(bytes.to_vec()),
            }
        };
        let port = Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: None, element: None };
        let inputs = wanted::of_ports(vec![port], None);
        let found = samples(&[InputFile::parse(path)], &inputs, &Preprocess::default(), &files, None);
        found.map(|found| found.notes).map_err(|error| error.to_string())
    }

    #[test]
    fn one_array_is_for_the_only_input() {
        assert_eq!(notes("one.npz", &[1, 2]).unwrap(), ["array `images` was read as `x`, the only input"]);
        assert!(notes("two.npz", &[1, 2]).unwrap_err().contains("unknown input `images`"));
        assert!(notes("y=one.npz", &[1, 2]).unwrap_err().contains("unknown input `y`"));
    }

    #[test]
    fn folders_give_samples_in_the_order_of_names() {
        let picture = |value: u8| png::tests::encoded(::png::ColorType::Grayscale, (1, 1), &[value]);
        let file = |(path, bytes): (&str, Vec<u8>)| (path.to_owned(), bytes);
        let none = || (String::new(), Vec::new());
        let files = [("d/b.PNG", picture(2)), ("d/a.png", picture(1)), ("d/c.txt", vec![]), ("e/f", vec![])];
        let reader = std::collections::BTreeMap::from_iter(files.map(file).into_iter().chain([none()]));
        let port = Port { name: "x".to_owned(), shape: vec![1, 1, 1, 1], vectors: None, element: None };
        let inputs = [Wanted { port, element: None, channels: Some(1), initial: None, range: None }];
        let found = |paths: &[&str]| {
            let files: Vec<InputFile> = paths.iter().map(|path| InputFile::parse(path)).collect();
            samples(&files, &inputs, &Preprocess::default(), &reader, None)
        };
        let values = |paths: &[&str]| {
            let samples = found(paths).unwrap().samples;
            samples.iter().map(|sample| sample[0].1.as_f32().unwrap()[0]).collect::<Vec<_>>()
        };
        assert_eq!(values(&["d"]), [1.0, 2.0]);
        assert_eq!(values(&["d/b.PNG", "d/a.png", "d"]), [2.0, 1.0, 1.0, 2.0]);
        let said = found(&["d"]).unwrap().notes;
        assert_eq!(said[0], "`d/c.txt` in `d` was left out: it is of another kind than the other files");
        assert_eq!(said[1], "`d` holds 2 samples: read from `d/a.png` to `d/b.PNG`, in numeric order");
        assert!(said[2].contains("given as uint8"), "{said:?}");
        assert!(found(&["e"]).unwrap_err().to_string().contains("no image or audio files"));
        assert!(found(&["no"]).is_err());
    }
}
