//! JPEG files as [`Pixels`].

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::exif;
use super::pixels::Pixels;

type Decoder<'f> = JpegDecoder<Cursor<&'f [u8]>>;

/// First bytes of a JPEG file.
pub(super) const MAGIC: &[u8] = &[0xff, 0xd8, 0xff];

/// Returns the width, height and number of channels.
pub(super) fn sizes(file: &[u8]) -> Result<(usize, usize, usize), DecodeErrors> {
    let (decoder, color) = decoder(file)?;
    let (width, height) =
        decoder.dimensions().ok_or(DecodeErrors::FormatStatic("it does not contain a size"))?;
    Ok((width, height, color.num_components()))
}

/// Decodes the image; the memory needed is known from its size. Data missing at the end of a file
/// is decoded as gray: see [`is_whole`].
pub(super) fn decode(file: &[u8]) -> Result<Pixels, DecodeErrors> {
    let (mut decoder, color) = decoder(file)?;
    let bytes = decoder.decode()?;
    let is_turned = decoder.exif().is_some_and(|exif| exif::is_turned(exif));
    Ok(Pixels { channels: color.num_components(), is_deep: false, is_turned, bytes })
}

/// Returns a decoder that has read the header, and its output colors: gray for gray images, RGB for
/// all others.
fn decoder(file: &[u8]) -> Result<(Decoder<'_>, ColorSpace), DecodeErrors> {
    let mut decoder = JpegDecoder::new(Cursor::new(file));
    decoder.decode_headers()?;
    let color = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    let options = DecoderOptions::default().jpeg_set_out_colorspace(color).set_strict_mode(false);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(file), options);
    decoder.decode_headers()?;
    Ok((decoder, color))
}

/// Whether the segments and scans of a JPEG file lead to its end marker.
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((marker, behind)) = next_marker(rest) {
        match marker {
            END => return true,
            BEGIN | TEMPORARY => rest = behind,
            _ => {
                let Some((&[high, low], _)) = behind.split_first_chunk() else { return false };
                let length = usize::from(u16::from_be_bytes([high, low]));
                let Some(next) = behind.get(length..) else { return false };
                rest = next;
            }
        }
    }
    false
}

/// Markers without a segment.
const BEGIN: u8 = 0xd8;
const END: u8 = 0xd9;
const TEMPORARY: u8 = 0x01;

/// Returns the next marker that is not part of the data of a scan, and the bytes after it.
fn next_marker(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let is_marker =
        |pair: &[u8]| matches!(pair, [0xff, marker] if !matches!(marker, 0x00 | 0xd0..=0xd7 | 0xff));
    let place = bytes.windows(2).position(is_marker)?;
    let (marker, behind) = bytes.get(place + 1..)?.split_first()?;
    Some((*marker, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// File with a segment that contains a fake end marker, and a scan with a stuffed byte and a
    /// restart marker.
    const WHOLE: [u8; 19] =
        [0xff, 0xd8, 0xff, 0xe1, 0, 4, 0xff, 0xd9, 0xff, 0xda, 0, 2, 7, 0xff, 0, 0xff, 0xd0, 0xff, 0xd9];

    #[test]
    fn whatever_is_cut_off_is_not_whole() {
        assert!(is_whole(&WHOLE));
        assert!(is_whole(&[&WHOLE[..], b"more"].concat()));
        for end in 0..WHOLE.len() {
            assert!(!is_whole(&WHOLE[..end]), "{end}");
        }
    }
}
