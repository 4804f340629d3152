//! Audio as samples: WAV files, with values from -1 to 1 and channels averaged.

use std::io::Cursor;

use hound::{SampleFormat, WavReader, WavSpec};
use npukit_numeric::Tensor;

use super::media::Media;
use super::wanted::Wanted;
use crate::error::Error;

/// Reader of a WAV file in memory.
type Wav<'a> = WavReader<Cursor<&'a [u8]>>;

/// Decodes the audio files into one tensor, each with the axes of a sample.
pub(super) fn tensor(sounds: &[Media], wanted: &Wanted, notes: &mut Vec<String>) -> Result<Tensor, Error> {
    let none = || not_for_sounds(sounds, wanted);
    let length = length(&wanted.port.shape).ok_or_else(none)?;
    let (mut values, mut kinds) = (Vec::new(), Vec::new());
    for sound in sounds {
        let (spec, decoded) = decode(sound, length, wanted)?;
        values.extend(decoded);
        let kind = kind(spec);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    notes.push(format!("input `{}`: audio at {}", wanted.port.name, kinds.join(" and at ")));
    let mut shape = vec![sounds.len()];
    shape.extend(&wanted.port.shape);
    Tensor::from_f32(shape, values).map_err(|_| none())
}

/// Returns the number of values per channel.
pub(super) fn frames(sound: &Media) -> Result<usize, Error> {
    Ok(open(sound)?.duration() as usize)
}

/// Returns the size of the only axis of a sample that has more than one element.
fn length(shape: &[usize]) -> Option<usize> {
    let mut sizes = shape.iter().copied().filter(|&size| size != 1);
    let length = sizes.next()?;
    sizes.next().is_none().then_some(length)
}

fn decode(sound: &Media, length: usize, wanted: &Wanted) -> Result<(WavSpec, Vec<f32>), Error> {
    let mut wav = open(sound)?;
    let (spec, frames) = (wav.spec(), wav.duration() as usize);
    if frames != length {
        let Media { path, .. } = sound;
        return Err(Error::SoundLength {
            path: path.clone(),
            frames,
            rate_hz: spec.sample_rate,
            input: wanted.port.name.clone(),
            wanted: length,
        });
    }
    let values = match spec.sample_format {
        SampleFormat::Float => wav.samples::<f32>().collect::<Result<Vec<_>, _>>(),
        SampleFormat::Int => {
            let full = 2f32.powi(i32::from(spec.bits_per_sample) - 1);
            wav.samples::<i32>().map(|value| value.map(|value| value as f32 / full)).collect()
        }
    };
    let values = values.map_err(|error| broken(sound, &error))?;
    let channels = usize::from(spec.channels);
    let average = |frame: &[f32]| frame.iter().sum::<f32>() / channels as f32;
    Ok((spec, values.chunks(channels).map(average).collect()))
}

/// Opens a file, which must have at least one channel.
fn open(sound: &Media) -> Result<Wav<'_>, Error> {
    let wav = WavReader::new(Cursor::new(&sound.bytes[..])).map_err(|error| broken(sound, &error))?;
    match wav.spec().channels {
        0 => Err(Error::Media {
            path: sound.path.clone(),
            reason: "it does not contain any channels".to_owned(),
        }),
        _ => Ok(wav),
    }
}

/// Describes the sampling rate and channels of an audio file.
fn kind(spec: WavSpec) -> String {
    let averaged = match spec.channels {
        1 => String::new(),
        channels => format!(", {channels} channels averaged"),
    };
    format!("{} Hz{averaged}", spec.sample_rate)
}

fn broken(sound: &Media, error: &hound::Error) -> Error {
    Error::Media { path: sound.path.clone(), reason: error.to_string() }
}

fn not_for_sounds(sounds: &[Media], wanted: &Wanted) -> Error {
    Error::NotForMedia {
        // Default: there is always at least one file.
        path: sounds.first().map(|sound| sound.path.clone()).unwrap_or_default(),
        input: wanted.port.name.clone(),
        shape: wanted.port.shape.clone(),
        legal: "an audio file needs an input with only one axis of more than one element; give an array of the preprocessed audio instead",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use hound::WavWriter;
    use npukit_target::Port;

    use super::*;

    fn wav(channels: u16, values: &[i16]) -> Media {
        let spec =
            WavSpec { channels, sample_rate: 16000, bits_per_sample: 16, sample_format: SampleFormat::Int };
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = WavWriter::new(&mut bytes, spec).unwrap();
        values.iter().for_each(|&value| writer.write_sample(value).unwrap());
        writer.finalize().unwrap();
        Media { path: "s.wav".to_owned(), bytes: bytes.into_inner() }
    }

    fn read(sounds: &[Media], shape: &[usize]) -> Result<(Tensor, String), String> {
        let port = Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: None, element: None };
        let (wanted, mut notes) =
            (Wanted { port, element: None, channels: None, initial: None, range: None }, Vec::new());
        let tensor = tensor(sounds, &wanted, &mut notes).map_err(|error| error.to_string())?;
        Ok((tensor, notes.join("; ")))
    }

    #[test]
    fn values_are_from_minus_one_to_one() {
        let (tensor, said) = read(&[wav(1, &[-32768, 16384, 0]), wav(1, &[0, 0, 8192])], &[1, 1, 3]).unwrap();
        assert_eq!(tensor.shape(), [2, 1, 1, 3]);
        assert_eq!(tensor.as_f32().unwrap(), [-1.0, 0.5, 0.0, 0.0, 0.0, 0.25]);
        assert_eq!(said, "input `x`: audio at 16000 Hz");
        let (tensor, said) = read(&[wav(2, &[16384, 0, -16384, 16384])], &[2]).unwrap();
        assert_eq!(tensor.as_f32().unwrap(), [0.25, 0.0]);
        assert_eq!(said, "input `x`: audio at 16000 Hz, 2 channels averaged");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |shape: &[usize]| read(&[wav(1, &[0; 5])], shape).unwrap_err();
        assert!(refused(&[1, 4]).contains("5 values"), "{}", refused(&[1, 4]));
        assert!(refused(&[1, 2, 3]).contains("cannot be read from"), "{}", refused(&[1, 2, 3]));
        let whole = wav(1, &[1; 5]).bytes;
        for end in 0..whole.len() {
            let cut = Media { path: "s.wav".to_owned(), bytes: whole[..end].to_vec() };
            assert!(read(&[cut], &[1, 5]).is_err(), "{end}");
        }
        // A file without channels, so without values.
        let mut none = whole;
        none[22] = 0;
        assert!(read(&[Media { path: "s.wav".to_owned(), bytes: none }], &[1, 5]).is_err());
    }
}
