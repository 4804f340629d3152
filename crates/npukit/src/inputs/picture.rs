//! Pictures as samples: PNG and JPEG files, their pixels 0 to 255.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use npukit_graph::Operator;
use npukit_graph::op::Transpose;
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::jpeg;
use super::read::Media;
use super::wanted::Wanted;
use crate::error::Error;

/// What the pictures of an input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    width: usize,
    height: usize,
    channels: usize,
    /// Whether each channel has its own rows.
    is_nchw: bool,
}

/// What of pictures was not as the input has it: how many there are of each.
#[derive(Default)]
struct Found {
    alpha: usize,
    to_grey: usize,
    to_colour: usize,
    deep: usize,
    turned: usize,
}

/// The pictures one after the other, rows of pixels with their channels where the input has them: shape `[pictures,
/// height, width, channels]` or `[pictures, channels, height, width]`.
pub(super) fn tensor(pictures: &[Media], wanted: &Wanted, notes: &mut Vec<String>) -> Result<Tensor, Error> {
    let form = Form::of(wanted).ok_or_else(|| no_pictures(pictures, wanted))?;
    let (mut pixels, mut found) = (Vec::new(), Found::default());
    for picture in pictures {
        pixels.extend(decode(picture, form, wanted, &mut found)?.into_iter().map(i32::from));
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

/// Width and height of a picture, and how many channels it has without transparency.
pub(super) fn sizes(picture: &Media) -> Result<(usize, usize, usize), Error> {
    let decoder = reader(picture)?.into_decoder().map_err(|error| broken(picture, &error))?;
    let (width, height) = decoder.dimensions();
    Ok((width as usize, height as usize, if decoder.color_type().has_color() { 3 } else { 1 }))
}

impl Form {
    /// Those an input takes, where it is known which axis is its channels.
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

    /// Bytes of a picture, at most so many for a channel.
    fn bytes(self, each: u64) -> u64 {
        let sizes = [self.width, self.height, self.channels.max(4)];
        sizes.iter().fold(each, |product, &size| product.saturating_mul(size as u64))
    }
}

/// The pixels of a picture, `[height, width, channels]`.
fn decode(picture: &Media, form: Form, wanted: &Wanted, found: &mut Found) -> Result<Vec<u8>, Error> {
    let (width, height, _) = sizes(picture)?;
    if (width, height) != (form.width, form.height) {
        return Err(Error::PictureSize {
            path: picture.path.clone(),
            width,
            height,
            input: wanted.port.name.clone(),
            wanted_width: form.width,
            wanted_height: form.height,
        });
    }
    let at = |error| broken(picture, &error);
    let mut limits = Limits::default();
    // The widest pixels, the picture in its own colours beside it, and what a decoder keeps for itself.
    limits.max_alloc = Some(form.bytes(32).saturating_add(16 << 20));
    let mut reader = reader(picture)?;
    let reader_format = reader.format();
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(at)?;
    if reader_format == Some(ImageFormat::Jpeg) && !jpeg::is_whole(&picture.bytes) {
        let reason = "it is cut off: its end is missing".to_owned();
        return Err(Error::Media { path: picture.path.clone(), reason });
    }
    found.turned += usize::from(decoder.orientation().map_err(at)? != Orientation::NoTransforms);
    let image = DynamicImage::from_decoder(decoder).map_err(at)?;
    Ok(found.pixels(image, form.channels))
}

impl Found {
    /// The pixels with so many channels.
    fn pixels(&mut self, image: DynamicImage, channels: usize) -> Vec<u8> {
        let colour = image.color();
        self.deep += usize::from(colour.bytes_per_pixel() > colour.channel_count());
        self.alpha += usize::from(colour.has_alpha() && channels != 4);
        self.to_grey += usize::from(colour.has_color() && channels == 1);
        self.to_colour += usize::from(!colour.has_color() && channels != 1);
        match channels {
            1 if colour.has_color() => image.into_rgb8().pixels().map(|pixel| luma(pixel.0)).collect(),
            1 => image.into_luma8().into_raw(),
            3 => image.into_rgb8().into_raw(),
            _ => image.into_rgba8().into_raw(),
        }
    }

    /// What is to be said.
    fn notes(&self, all: usize) -> Vec<String> {
        let of = |count: usize| {
            if count == all { "all pictures".to_owned() } else { format!("{count} of {all} pictures") }
        };
        let said = [
            (self.alpha, "have transparency, which was left out"),
            (
                self.to_grey,
                "have colours, which were taken as grey: 0.299 red + 0.587 green + 0.114 blue (BT.601)",
            ),
            (self.to_colour, "are grey, which was taken for each colour"),
            (self.deep, "have 16 bits a channel, which were rounded to 8"),
            (self.turned, "say that they are to be turned when shown; their pixels were taken as they lie"),
        ];
        let said = said.into_iter().filter(|(count, _)| *count > 0);
        said.map(|(count, what)| format!("{} {what}", of(count))).collect()
    }
}

/// Grey by BT.601, as Pillow, OpenCV and TensorFlow have it; with the rounding of the first.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471 + (1 << 15);
    (sum >> 16) as u8
}

fn reader(picture: &Media) -> Result<ImageReader<Cursor<&[u8]>>, Error> {
    let format = image::guess_format(&picture.bytes).ok();
    let format = format.filter(|format| matches!(format, ImageFormat::Png | ImageFormat::Jpeg));
    let format = format.ok_or_else(|| Error::Media {
        path: picture.path.clone(),
        reason: "it is neither PNG nor JPEG".to_owned(),
    })?;
    Ok(ImageReader::with_format(Cursor::new(&picture.bytes), format))
}

fn broken(picture: &Media, error: &ImageError) -> Error {
    Error::Media { path: picture.path.clone(), reason: error.to_string() }
}

fn no_pictures(pictures: &[Media], wanted: &Wanted) -> Error {
    Error::NotForMedia {
        // Default: there always is one.
        path: pictures.first().map(|picture| picture.path.clone()).unwrap_or_default(),
        input: wanted.port.name.clone(),
        shape: wanted.port.shape.clone(),
        legal: "a picture is for an input of height, width and 1, 3 or 4 channels; give an array",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use image::{ExtendedColorType, ImageEncoder, codecs::png::PngEncoder};
    use npukit_target::Port;

    use super::*;

    fn png(colour: ExtendedColorType, width: u32, height: u32, bytes: &[u8]) -> Media {
        let mut file = Vec::new();
        PngEncoder::new(&mut file).write_image(bytes, width, height, colour).unwrap();
        Media { path: "p.png".to_owned(), bytes: file }
    }

    fn wanted(shape: &[usize], channels: usize) -> Wanted {
        let port = Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: None };
        Wanted { port, element: None, channels: Some(channels), initial: None }
    }

    fn pixels(pictures: &[Media], wanted: &Wanted) -> Result<(Vec<i32>, String), String> {
        let mut notes = Vec::new();
        let tensor = tensor(pictures, wanted, &mut notes).map_err(|error| error.to_string())?;
        let TensorData::I32(values) = tensor.data() else { panic!("{tensor:?}") };
        Ok((values.clone(), notes.join("; ")))
    }

    #[test]
    fn pixels_have_their_channels_where_the_input_has_them() {
        let picture = png(ExtendedColorType::Rgb8, 2, 1, &[1, 2, 3, 4, 5, 255]);
        let at = |shape: &[usize], channels| {
            pixels(std::slice::from_ref(&picture), &wanted(shape, channels)).unwrap()
        };
        assert_eq!(at(&[1, 1, 2, 3], 3), (vec![1, 2, 3, 4, 5, 255], String::new()));
        assert_eq!(at(&[1, 3, 1, 2], 1), (vec![1, 4, 2, 5, 3, 255], String::new()));
        assert_eq!(sizes(&picture).unwrap(), (2, 1, 3));
    }

    #[test]
    fn colours_become_those_of_the_input_and_are_said() {
        let rgb = wanted(&[1, 1, 2, 3], 3);
        let (values, said) =
            pixels(&[png(ExtendedColorType::Rgba8, 2, 1, &[1, 2, 3, 9, 4, 5, 6, 0])], &rgb).unwrap();
        assert_eq!(values, [1, 2, 3, 4, 5, 6]);
        assert_eq!(said, "input `x`: all pictures have transparency, which was left out");
        let grey = png(ExtendedColorType::L8, 2, 1, &[7, 8]);
        let (values, said) = pixels(&[grey, png(ExtendedColorType::Rgb8, 2, 1, &[0; 6])], &rgb).unwrap();
        assert_eq!(values, [7, 7, 7, 8, 8, 8, 0, 0, 0, 0, 0, 0]);
        assert!(said.contains("1 of 2 pictures are grey"), "{said}");
        let white = png(ExtendedColorType::Rgb8, 2, 1, &[255; 6]);
        let (values, said) = pixels(&[white], &wanted(&[1, 1, 1, 2], 1)).unwrap();
        assert_eq!(values, [255, 255]);
        assert!(said.contains("0.299 red + 0.587 green + 0.114 blue"), "{said}");
        let primary = png(ExtendedColorType::Rgb8, 3, 1, &[255, 0, 0, 0, 255, 0, 0, 0, 255]);
        assert_eq!(pixels(&[primary], &wanted(&[1, 1, 1, 3], 1)).unwrap().0, [76, 150, 29]);
    }

    #[test]
    fn jpeg_is_read_too() {
        let mut bytes = Vec::new();
        let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 100);
        encoder.write_image(&[90; 64], 8, 8, ExtendedColorType::L8).unwrap();
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
        let picture = || png(ExtendedColorType::L8, 3, 2, &[0; 6]);
        let refused = |shape: &[usize], channels| pixels(&[picture()], &wanted(shape, channels)).unwrap_err();
        assert!(refused(&[1, 1, 3, 2], 1).contains("3 x 2"), "{}", refused(&[1, 1, 3, 2], 1));
        assert!(refused(&[1, 16, 2, 3], 1).contains("takes no such file"), "{}", refused(&[1, 16, 2, 3], 1));
        let whole = picture().bytes;
        for end in 0..whole.len() {
            let cut = Media { path: "p.png".to_owned(), bytes: whole[..end].to_vec() };
            let _ = pixels(&[cut], &wanted(&[1, 1, 2, 3], 1));
        }
        let cut = Media { path: "p.png".to_owned(), bytes: whole[..whole.len() / 2].to_vec() };
        assert!(pixels(&[cut], &wanted(&[1, 1, 2, 3], 1)).is_err());
    }
}
