//! [`Preprocess`]: changes the values of inputs before the program gets them.

use npukit_numeric::Tensor;

use super::wanted::Wanted;
use crate::error::Error;
use crate::numbers::assumed::GivenRange;

/// Preprocessing of inputs that are real numbers: `x` becomes `(x * scale - mean) / std`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preprocess {
    /// Factor `scale`; 1 if `None`.
    pub scale: Option<f64>,
    /// One number, or one per channel; 0 if empty.
    pub mean: Vec<f64>,
    /// One nonzero number, or one per channel; 1 if empty.
    pub std: Vec<f64>,
    /// Width and height to which images are resized first; `None` keeps their size.
    pub resize: Option<(usize, usize)>,
    /// Whether images are cropped to the size of the input, around their center.
    pub crop: bool,
    /// Maximum number of samples; the first ones are used. `None` for all.
    pub samples: Option<usize>,
    /// Declared ranges for random inputs.
    pub ranges: Vec<GivenRange>,
}

impl Preprocess {
    /// Whether values stay unchanged.
    pub fn is_nothing(&self) -> bool {
        self.scale.is_none() && self.mean.is_empty() && self.std.is_empty()
    }

    /// Formats the options as on the command line, each after a space.
    pub(crate) fn typed(&self) -> String {
        let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let scale = Vec::from_iter(self.scale);
        let options = [("--scale", list(&scale)), ("--mean", list(&self.mean)), ("--std", list(&self.std))];
        let given = options.into_iter().filter(|(_, value)| !value.is_empty());
        let values = given.map(|(option, value)| format!(" {option}={value}"));
        let resize = self.resize.map(|(width, height)| format!(" --resize={width}x{height}"));
        let samples = self.samples.map(|count| format!(" --samples={count}"));
        let crop = self.crop.then(|| " --crop".to_owned());
        values.chain(resize).chain(crop).chain(samples).collect()
    }

    /// Checks that the numbers are valid.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let numbers = || self.scale.iter().chain(&self.mean).chain(&self.std);
        let reason = match numbers().find(|number| !number.is_finite()) {
            Some(number) => format!("{number} is not a finite number"),
            None if self.std.contains(&0.0) => "`--std` is a divisor and cannot be 0".to_owned(),
            None if self.samples == Some(0) => "`--samples` is at least 1".to_owned(),
            None if self.resize.is_some_and(|(width, height)| width == 0 || height == 0) => {
                "`--resize` has a width and a height of at least 1".to_owned()
            }
            None => return Ok(()),
        };
        Err(Error::Preprocess { reason })
    }

    /// Preprocesses `tensor`, whose channel axis is `axis`, for an input of real numbers.
    pub(crate) fn apply(
        &self,
        wanted: &Wanted,
        tensor: Tensor,
        axis: Option<usize>,
    ) -> Result<Tensor, Error> {
        // Default: elements that are not real numbers are refused by the program.
        let Some(values) = tensor.as_f32().filter(|_| !self.is_nothing()) else { return Ok(tensor) };
        let channels = Channels::of(self, wanted, tensor.shape(), axis)?;
        // Default: without an option, values are not changed, as documented.
        let scale = self.scale.unwrap_or(1.0);
        let at = |numbers: &[f64], place: usize, without: f64| match numbers {
            [] => without,
            &[number] => number,
            numbers => numbers.get(channels.of_element(place)).copied().unwrap_or(without), // Default: the lengths agree
        };
        let value = |(place, &value): (usize, &f32)| {
            ((f64::from(value) * scale - at(&self.mean, place, 0.0)) / at(&self.std, place, 1.0)) as f32
        };
        let values = values.iter().enumerate().map(value).collect();
        let tensor = Tensor::from_f32(tensor.shape().to_vec(), values);
        tensor.map_err(|_| Error::Preprocess { reason: "the shape of the values is invalid".to_owned() })
    }
}

/// Position of the channels in a tensor.
struct Channels {
    count: usize,
    /// Number of elements between adjacent channels.
    stride: usize,
}

impl Channels {
    /// Finds the channels of a tensor of `shape`. A list of numbers per channel must have one for
    /// each channel.
    fn of(
        preprocess: &Preprocess,
        wanted: &Wanted,
        shape: &[usize],
        axis: Option<usize>,
    ) -> Result<Self, Error> {
        let none = Self { count: 1, stride: 1 };
        let lists = [("--mean", &preprocess.mean), ("--std", &preprocess.std)];
        let Some((option, numbers)) = lists.into_iter().find(|(_, list)| list.len() > 1) else {
            return Ok(none);
        };
        let name = &wanted.port.name;
        let Some((axis, &count)) = axis.and_then(|axis| Some((axis, shape.get(axis)?))) else {
            let reason = format!(
                "`{option}` has {} numbers, but the channel axis of input `{name}` is unknown for shape \
                 {shape:?}: give one number, or preprocessed values",
                numbers.len()
            );
            return Err(Error::Preprocess { reason });
        };
        for (option, numbers) in lists {
            if numbers.len() > 1 && numbers.len() != count {
                let reason = format!(
                    "`{option}` has {} numbers, but input `{name}` of {shape:?} has {count} channels on \
                     axis {axis}: give one number, or {count}",
                    numbers.len()
                );
                return Err(Error::Preprocess { reason });
            }
        }
        let stride = shape.iter().skip(axis + 1).product();
        Ok(Self { count, stride })
    }

    /// Returns the channel of the element at `place`.
    fn of_element(&self, place: usize) -> usize {
        // Axes of a tensor with elements are not empty.
        place.checked_div(self.stride).and_then(|place| place.checked_rem(self.count)).unwrap_or(0) // Default: unreachable
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::Port;

    use super::*;

    fn apply(preprocess: &Preprocess, shape: &[usize], axis: Option<usize>) -> Result<Vec<f32>, String> {
        let port = Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: None, element: None };
        let wanted = Wanted { port, element: None, channels: axis, initial: None, range: None };
        let values = (0..shape.iter().product::<usize>()).map(|value| value as f32).collect();
        let tensor = Tensor::from_f32(shape.to_vec(), values).unwrap();
        let applied = preprocess.apply(&wanted, tensor, axis).map_err(|error| error.to_string())?;
        assert_eq!(applied.shape(), shape);
        Ok(applied.as_f32().unwrap().to_vec())
    }

    #[test]
    fn each_channel_has_its_numbers() {
        let both =
            Preprocess { scale: Some(2.0), mean: vec![1.0, 2.0], std: vec![0.5], ..Preprocess::default() };
        assert_eq!(apply(&both, &[1, 2, 2], Some(1)).unwrap(), [-2.0, 2.0, 4.0, 8.0]);
        assert_eq!(apply(&both, &[1, 2, 2], Some(2)).unwrap(), [-2.0, 0.0, 6.0, 8.0]);
        assert!(apply(&both, &[2, 0], Some(0)).unwrap().is_empty());
        let one = Preprocess { std: vec![2.0], ..Preprocess::default() };
        assert_eq!(apply(&one, &[3], None).unwrap(), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn options_are_typed_as_they_were_meant() {
        let all = Preprocess {
            scale: Some(1.0 / 255.0),
            mean: vec![-1.0, 0.5],
            std: vec![2.0],
            resize: Some((32, 24)),
            ..Preprocess::default()
        };
        assert_eq!(all.typed(), " --scale=0.00392156862745098 --mean=-1,0.5 --std=2 --resize=32x24");
        assert_eq!(Preprocess::default().typed(), "");
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let three = Preprocess { mean: vec![1.0, 2.0, 3.0], ..Preprocess::default() };
        let unknown = apply(&three, &[1, 2], None).unwrap_err();
        assert!(unknown.contains("the channel axis of input `x` is unknown"), "{unknown}");
        let other = apply(&three, &[1, 2], Some(1)).unwrap_err();
        assert!(
            other.contains("`--mean` has 3 numbers, but input `x` of [1, 2] has 2 channels on axis 1"),
            "{other}"
        );
        for (scale, std) in [(f64::NAN, 1.0), (1.0, 0.0), (1.0, f64::INFINITY)] {
            assert!(
                Preprocess { scale: Some(scale), std: vec![std], ..Preprocess::default() }.check().is_err()
            );
        }
        assert!(three.check().is_ok());
    }
}
