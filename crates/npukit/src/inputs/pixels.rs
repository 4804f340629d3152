//! [`Pixels`]: a decoded image.

/// Decoded image: rows of pixels one after the other, with interleaved channels.
#[derive(Debug)]
pub(super) struct Pixels {
    /// Number of channels: 1 is gray, 2 gray and alpha, 3 RGB, 4 RGBA.
    pub channels: usize,
    /// Whether the file has 16 bits per channel.
    pub is_deep: bool,
    /// Whether the file asks viewers to rotate or mirror the image.
    pub is_turned: bool,
    pub bytes: Vec<u8>,
}

impl Pixels {
    /// Whether pixels have colors, not only gray.
    pub fn has_color(&self) -> bool {
        self.channels > 2
    }

    /// Whether pixels have an alpha channel.
    pub fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }

    /// Converts the pixels to 1, 3 or 4 channels. Colors become gray by BT.601; gray is used for
    /// each color.
    pub fn with_channels(self, channels: usize) -> Vec<u8> {
        if channels == self.channels {
            return self.bytes;
        }
        let pixels = self.bytes.chunks_exact(self.channels).map(|pixel| match *pixel {
            [gray] => [gray, gray, gray, 255],
            [gray, alpha] => [gray, gray, gray, alpha],
            [red, green, blue] => [red, green, blue, 255],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            _ => unreachable!("pixels have one to four channels"),
        });
        match channels {
            1 if self.channels > 2 => pixels.map(|[red, green, blue, _]| luma([red, green, blue])).collect(),
            _ => pixels.flat_map(|pixel| pixel.into_iter().take(channels)).collect(),
        }
    }
}

/// Returns gray by BT.601, as in Pillow, OpenCV and TensorFlow, with Pillow's rounding.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let sum = u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471 + (1 << 15);
    (sum >> 16) as u8
}
