//! PNG files as [`Pixels`].

use std::io::Cursor;

use png::{BitDepth, Decoder, DecodingError, Limits, Reader, Transformations};

use super::exif;
use super::pixels::Pixels;

/// First bytes of a PNG file.
pub(super) const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns the width, height and number of channels without alpha.
pub(super) fn sizes(file: &[u8]) -> Result<(usize, usize, usize), DecodingError> {
    let reader = reader(file, Limits::default())?;
    let (width, height) = reader.info().size();
    let (color, _) = reader.output_color_type();
    Ok((width as usize, height as usize, if color.samples() > 2 { 3 } else { 1 }))
}

/// Decodes the image; the decoder may allocate at most `bytes` bytes.
pub(super) fn decode(file: &[u8], bytes: usize) -> Result<Pixels, DecodingError> {
    let mut reader = reader(file, Limits { bytes })?;
    let size =
        reader.output_buffer_size().filter(|size| *size <= bytes).ok_or(DecodingError::LimitsExceeded)?;
    let mut samples = vec![0; size];
    reader.next_frame(&mut samples)?;
    let (color, depth) = reader.output_color_type();
    let is_deep = depth == BitDepth::Sixteen;
    Ok(Pixels {
        channels: color.samples(),
        is_deep,
        is_turned: reader.info().exif_metadata.as_deref().is_some_and(exif::is_turned),
        bytes: if is_deep { samples.chunks_exact(2).map(eight_bits).collect() } else { samples },
    })
}

/// Rounds a 16-bit sample, high byte first, to 8 bits.
fn eight_bits(sample: &[u8]) -> u8 {
    let sample = sample.iter().fold(0, |sample, byte| sample << 8 | u32::from(*byte));
    ((sample + 128) / 257) as u8
}

/// Returns a reader that expands palettes and samples of less than 8 bits to bytes.
fn reader(file: &[u8], limits: Limits) -> Result<Reader<Cursor<&[u8]>>, DecodingError> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), limits);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.read_info()
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use png::{ColorType, Encoder};

    use super::*;

    /// Encodes pixels as a PNG file.
    pub fn encoded(color: ColorType, (width, height): (u32, u32), bytes: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, width, height);
        encoder.set_color(color);
        encoder.set_depth(if bytes.len() > (width * height) as usize * color.samples() {
            BitDepth::Sixteen
        } else {
            BitDepth::Eight
        });
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
        file
    }

    #[test]
    fn samples_of_sixteen_bits_are_rounded() {
        let picture =
            decode(&encoded(ColorType::Grayscale, (3, 1), &[0, 128, 0, 129, 255, 255]), 1 << 20).unwrap();
        assert_eq!((picture.bytes, picture.is_deep), (vec![0, 1, 255], true));
    }

    #[test]
    fn memory_is_bounded() {
        let file = encoded(ColorType::Rgb, (64, 64), &[7; 64 * 64 * 3]);
        assert!(decode(&file, 64 * 64 * 2).is_err());
        assert_eq!(decode(&file, 1 << 20).unwrap().bytes.len(), 64 * 64 * 3);
    }
}
