//! Images as samples: PNG and JPEG files, with pixel values from 0 to 255.

use std::fmt::Display;

use npukit_graph::Operator;
use npukit_graph::op::Transpose;
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::media::Media;
use super::pixels::Pixels;
use super::preprocess::Preprocess;
use super::wanted::Wanted;
use super::{jpeg, png, resize};
use crate::error::Error;

/// Maximum number of pixels of an image that is resized or cropped.
const MAX_PIXELS: u64 = 1 << 26;
/// Bytes of the widest pixels, with the decoder's own buffers.
const PIXEL_BYTES: u64 = 32;

/// Image form that an input takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    width: usize,
    height: usize,
    channels: usize,
    /// Whether each channel is stored separately (NCHW).
    is_nchw: bool,
}

/// Number of images that needed each kind of conversion.
#[derive(Default)]
struct Conversions {
    alpha: usize,
    to_gray: usize,
    to_color: usize,
    deep: usize,
    turned: usize,
}

/// Decodes the images into one tensor in the layout of the input: `[images, height, width,
/// channels]` or `[images, channels, height, width]`.
///
/// `preprocess` resizes and crops them first.
pub(super) fn tensor(
    pictures: &[Media],
    wanted: &Wanted,
    preprocess: &Preprocess,
    notes: &mut Vec<String>,
) -> Result<Tensor, Error> {
    let form = Form::of(wanted).ok_or_else(|| no_pictures(pictures, wanted))?;
    let (mut pixels, mut found) = (Vec::new(), Conversions::default());
    for picture in pictures {
        pixels.extend(decode(picture, form, wanted, preprocess, &mut found)?.into_iter().map(i32::from));
    }
    notes.extend(
        found.notes(pictures.len()).into_iter().map(|note| format!("input `{}`: {note}", wanted.port.name)),
    );
    let shape = vec![pictures.len(), form.height, form.width, form.channels];
    let tensor = Tensor::new(shape, TensorData::I32(pixels)).ok();
    let tensor = tensor.and_then(|tensor| if form.is_nchw { to_nchw(&tensor) } else { Some(tensor) });
    let bytes = tensor.and_then(|tensor| tensor.with_element(ElementType::U8).ok());
    bytes.ok_or_else(|| no_pictures(pictures, wanted))
}

fn to_nchw(tensor: &Tensor) -> Option<Tensor> {
    Transpose { perm: vec![0, 3, 1, 2] }.eval(&[tensor]).ok()?.pop()
}

/// Returns the width, height and number of channels without alpha.
pub(super) fn sizes(picture: &Media) -> Result<(usize, usize, usize), Error> {
    match Format::of(picture)? {
        Format::Png => png::sizes(&picture.bytes).map_err(|error| broken(picture, &error)),
        Format::Jpeg => jpeg::sizes(&picture.bytes).map_err(|error| broken(picture, &error)),
    }
}

/// Image formats.
#[derive(Clone, Copy)]
enum Format {
    Png,
    Jpeg,
}

impl Format {
    /// Returns the format by the first bytes of a file.
    fn of(picture: &Media) -> Result<Self, Error> {
        match &picture.bytes {
            bytes if bytes.starts_with(png::MAGIC) => Ok(Self::Png),
            bytes if bytes.starts_with(jpeg::MAGIC) => Ok(Self::Jpeg),
            _ => Err(broken(picture, &"it is neither a PNG nor a JPEG file")),
        }
    }
}

impl Form {
    /// Returns the form that an input takes, if its channel axis is known.
    fn of(wanted: &Wanted) -> Option<Self> {
        let shape = &wanted.port.shape;
        let &[.., a, b, c] = &shape[..] else { return None };
        let from_end = shape.len().checked_sub(wanted.channels?)?;
        let (is_nchw, [height, width, channels]) = match from_end {
            3 => (true, [b, c, a]),
            1 => (false, [a, b, c]),
            _ => return None,
        };
        Some(Self { width, height, channels, is_nchw }).filter(|form| [1, 3, 4].contains(&form.channels))
    }
}

/// Decodes the pixels of an image, `[height, width, channels]`.
fn decode(
    picture: &Media,
    form: Form,
    wanted: &Wanted,
    preprocess: &Preprocess,
    found: &mut Conversions,
) -> Result<Vec<u8>, Error> {
    let (width, height, _) = sizes(picture)?;
    let (size, takes) = ((width, height), (form.width, form.height));
    let resized = preprocess.resize.unwrap_or(size); // Default: the image keeps its size.
    let is_larger = resized.0 >= takes.0 && resized.1 >= takes.1;
    if resized != takes && !(preprocess.crop && is_larger) {
        let (width, height) = resized;
        return Err(Error::PictureSize {
            path: picture.path.clone(),
            width,
            height,
            input: wanted.port.name.clone(),
            wanted_width: form.width,
            wanted_height: form.height,
        });
    }
    // An image of another size is not limited by the input.
    let pixels = (width as u64).saturating_mul(height as u64);
    if size != takes && pixels > MAX_PIXELS {
        return Err(broken(picture, &format!("it has {pixels} pixels; at most {MAX_PIXELS} can be resized")));
    }
    let pixels = match Format::of(picture)? {
        Format::Jpeg if !jpeg::is_whole(&picture.bytes) => {
            return Err(broken(picture, &"it is truncated: its end is missing"));
        }
        Format::Jpeg => jpeg::decode(&picture.bytes).map_err(|error| broken(picture, &error))?,
        // Memory for the widest pixels, and for the decoder's own buffers.
        Format::Png => {
            let most = usize::try_from(pixels.saturating_mul(PIXEL_BYTES).saturating_add(16 << 20))
                .unwrap_or(usize::MAX); // Default: the maximum on a 32-bit host.
            png::decode(&picture.bytes, most).map_err(|error| broken(picture, &error))?
        }
    };
    let pixels = found.note(pixels, form.channels);
    let pixels = resize::resized(pixels, size, resized);
    Ok(resize::cropped(pixels, resized, takes).with_channels(form.channels))
}

impl Conversions {
    /// Counts the conversions of an image to this number of channels.
    fn note(&mut self, picture: Pixels, channels: usize) -> Pixels {
        self.deep += usize::from(picture.is_deep);
        self.alpha += usize::from(picture.has_alpha() && channels != 4);
        self.to_gray += usize::from(picture.has_color() && channels == 1);
        self.to_color += usize::from(!picture.has_color() && channels != 1);
        self.turned += usize::from(picture.is_turned);
        picture
    }

    /// Returns the notes on conversions.
    fn notes(&self, all: usize) -> Vec<String> {
        let of = |count: usize| {
            if count == all { "all images".to_owned() } else { format!("{count} of {all} images") }
        };
        let said = [
            (self.alpha, "have an alpha channel, which was dropped"),
            (
                self.to_gray,
                "have colors, which were converted to gray: 0.299 red + 0.587 green + 0.114 blue (BT.601)",
            ),
            (self.to_color, "are gray, which was used for each color"),
            (self.deep, "have 16 bits per channel, which were rounded to 8"),
            (self.turned, "ask viewers to rotate them (Exif); their pixels were not rotated"),
        ];
        let said = said.into_iter().filter(|(count, _)| *count > 0);
        said.map(|(count, what)| format!("{} {what}", of(count))).collect()
    }
}

fn broken(picture: &Media, reason: &dyn Display) -> Error {
    Error::Media { path: picture.path.clone(), reason: reason.to_string() }
}

fn no_pictures(pictures: &[Media], wanted: &Wanted) -> Error {
    Error::NotForMedia {
        // Default: there is always at least one image.
        path: pictures.first().map(|picture| picture.path.clone()).unwrap_or_default(),
        input: wanted.port.name.clone(),
        shape: wanted.port.shape.clone(),
        legal: "an image needs an input with height, width and 1, 3 or 4 channels; give an array instead",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use ::png::ColorType;
    use npukit_target::Port;

    use super::png::tests::encoded;
    use super::*;

    fn png(color: ColorType, width: u32, height: u32, bytes: &[u8]) -> Media {
        Media { path: "p.png".to_owned(), bytes: encoded(color, (width, height), bytes) }
    }

    fn wanted(shape: &[usize], channels: usize) -> Wanted {
        let port = Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: None, element: None };
        Wanted { port, element: None, channels: Some(channels), initial: None, range: None }
    }

    fn pixels(pictures: &[Media], wanted: &Wanted) -> Result<(Vec<i32>, String), String> {
        let mut notes = Vec::new();
        let tensor = tensor(pictures, wanted, &Preprocess::default(), &mut notes)
            .map_err(|error| error.to_string())?;
        let TensorData::I32(values) = tensor.data() else { panic!("{tensor:?}") };
        Ok((values.clone(), notes.join("; ")))
    }

    #[test]
    fn pixels_have_their_channels_where_the_input_has_them() {
        let picture = png(ColorType::Rgb, 2, 1, &[1, 2, 3, 4, 5, 255]);
        let at = |shape: &[usize], channels| {
            pixels(std::slice::from_ref(&picture), &wanted(shape, channels)).unwrap()
        };
        assert_eq!(at(&[1, 1, 2, 3], 3), (vec![1, 2, 3, 4, 5, 255], String::new()));
        assert_eq!(at(&[1, 3, 1, 2], 1), (vec![1, 4, 2, 5, 3, 255], String::new()));
        assert_eq!(sizes(&picture).unwrap(), (2, 1, 3));
    }

    #[test]
    fn colors_become_those_of_the_input_and_are_said() {
        let rgb = wanted(&[1, 1, 2, 3], 3);
        let (values, said) = pixels(&[png(ColorType::Rgba, 2, 1, &[1, 2, 3, 9, 4, 5, 6, 0])], &rgb).unwrap();
        assert_eq!(values, [1, 2, 3, 4, 5, 6]);
        assert_eq!(said, "input `x`: all images have an alpha channel, which was dropped");
        let gray = png(ColorType::Grayscale, 2, 1, &[7, 8]);
        let (values, said) = pixels(&[gray, png(ColorType::Rgb, 2, 1, &[0; 6])], &rgb).unwrap();
        assert_eq!(values, [7, 7, 7, 8, 8, 8, 0, 0, 0, 0, 0, 0]);
        assert!(said.contains("1 of 2 images are gray"), "{said}");
        let white = png(ColorType::Rgb, 2, 1, &[255; 6]);
        let (values, said) = pixels(&[white], &wanted(&[1, 1, 1, 2], 1)).unwrap();
        assert_eq!(values, [255, 255]);
        assert!(said.contains("0.299 red + 0.587 green + 0.114 blue"), "{said}");
        let primary = png(ColorType::Rgb, 3, 1, &[255, 0, 0, 0, 255, 0, 0, 0, 255]);
        assert_eq!(pixels(&[primary], &wanted(&[1, 1, 1, 3], 1)).unwrap().0, [76, 150, 29]);
    }

    /// JPEG file of 8 x 8 pixels, all of value 90.
    const GRAY: &[u8] = &[
        0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01, 0x00,
        0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
        0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
        0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
        0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
        0x01, 0x01, 0x01, 0x01, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x08, 0x00, 0x08, 0x01, 0x01, 0x11, 0x00,
        0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x09, 0xff, 0xc4, 0x00, 0x14, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00,
        0x00, 0x3f, 0x00, 0x33, 0xdf, 0xff, 0xd9,
    ];

    #[test]
    fn jpeg_is_read_too() {
        let bytes = GRAY.to_vec();
        for end in 0..bytes.len() {
            let cut = Media { path: "p.jpg".to_owned(), bytes: bytes[..end].to_vec() };
            assert!(pixels(&[cut], &wanted(&[1, 1, 8, 8], 1)).is_err(), "{end}");
        }
        let picture = Media { path: "p.jpg".to_owned(), bytes };
        assert_eq!(sizes(&picture).unwrap(), (8, 8, 1));
        let (values, said) = pixels(&[picture], &wanted(&[1, 1, 8, 8], 1)).unwrap();
        assert!(values.iter().all(|value| (89..=91).contains(value)), "{values:?}");
        assert_eq!((values.len(), said.as_str()), (64, ""));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let picture = || png(ColorType::Grayscale, 3, 2, &[0; 6]);
        let refused = |shape: &[usize], channels| pixels(&[picture()], &wanted(shape, channels)).unwrap_err();
        assert!(refused(&[1, 1, 3, 2], 1).contains("3 x 2"), "{}", refused(&[1, 1, 3, 2], 1));
        assert!(refused(&[1, 16, 2, 3], 1).contains("cannot be read from"), "{}", refused(&[1, 16, 2, 3], 1));
        let whole = picture().bytes;
        for end in 0..whole.len() {
            let cut = Media { path: "p.png".to_owned(), bytes: whole[..end].to_vec() };
            let _ = pixels(&[cut], &wanted(&[1, 1, 2, 3], 1));
        }
        let cut = Media { path: "p.png".to_owned(), bytes: whole[..whole.len() / 2].to_vec() };
        assert!(pixels(&[cut], &wanted(&[1, 1, 2, 3], 1)).is_err());
    }
}
