//! Parsers of argument values.

use npukit::costs::HostRates;
use npukit::{GivenRange, MemFile, MotionRequest, QuantizeMethod};

pub fn mem_file(text: &str) -> Result<MemFile, String> {
    MemFile::parse(text)
        .ok_or_else(|| "must be NAME=FILE or NAME@ADDRESS=FILE, as `dram0@0x100=x.npy`".to_owned())
}

pub fn motion(text: &str) -> Result<MotionRequest, String> {
    MotionRequest::parse(text)
        .ok_or_else(|| "must be FILE.svg or STEP=FILE.svg, as `3=matmul.svg`".to_owned())
}

/// Parses `batch=8`.
pub fn dimension(text: &str) -> Result<(String, usize), String> {
    // Some exporters name dimensions `a=b`: the last sign separates the size.
    let (name, size) = text.rsplit_once('=').ok_or("must be NAME=SIZE, as `batch=8`")?;
    let size =
        size.trim().parse().map_err(|_| format!("`{size}` is not a size: sizes are whole numbers from 0"))?;
    Ok((name.to_owned(), size))
}

/// Parses `0.5` or `1/255`.
pub fn number(text: &str) -> Result<f64, String> {
    let (dividend, divisor) = text.split_once('/').unwrap_or((text, "1"));
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let quotient = finite(dividend).zip(finite(divisor)).map(|(dividend, divisor)| dividend / divisor);
    quotient
        .filter(|number| number.is_finite())
        .ok_or_else(|| "must be a number, as `0.5` or `1/255`".to_owned())
}

/// Parses `256x256`.
pub fn size(text: &str) -> Result<(usize, usize), String> {
    let size = |text: &str| text.trim().parse().ok().filter(|&size: &usize| size > 0);
    let pair = text.split_once('x').and_then(|(width, height)| size(width).zip(size(height)));
    pair.ok_or_else(|| {
        "must be WIDTHxHEIGHT in pixels, as `256x256` (--resize-mode is for the operator Resize)".to_owned()
    })
}

/// Parses `0.9` or `90%`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / whole);
    let legal = share.filter(|share| (0.0..=1.0).contains(share));
    legal.ok_or_else(|| "must be a share from 0 to 1, as `0.9` or `90%`".to_owned())
}

/// Parses `2.5`.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|number| *number >= 0.0).ok_or_else(|| "must be a non-negative number, as `2.5`".to_owned())
}

/// Parses `5,400e6`.
pub fn host_rates(text: &str) -> Result<HostRates, String> {
    let legal = "must be nanoseconds per element (from 0) and bytes per second (above 0), as `5,400e6`";
    HostRates::parse(text).ok_or_else(|| legal.to_owned())
}

/// Parses a range of an input.
pub fn given_range(text: &str) -> Result<GivenRange, String> {
    let legal = "must be `[NAME=]LOW..HIGH`, as `0..255`, with the smaller number first, or `[NAME=]image`";
    GivenRange::parse(text).ok_or_else(|| legal.to_owned())
}

/// Parses a method such as `least-squares`.
pub fn quantize_method(text: &str) -> Result<QuantizeMethod, String> {
    let legal = "must be `least-squares`, `min-max` or `percentile=P` with 50 to 100 for P";
    npukit::quantize_method(text).ok_or_else(|| legal.to_owned())
}

/// Parses `state=stateN`.
pub fn state(text: &str) -> Result<(String, String), String> {
    let (input, output) = text.split_once('=').ok_or("must be INPUT=OUTPUT, as `state=stateN`")?;
    Ok((input.to_owned(), output.to_owned()))
}

/// Parses `sr=16000`.
pub fn fixed(text: &str) -> Result<(String, String), String> {
    let (name, number) = text.split_once('=').ok_or("must be NAME=NUMBER, as `sr=16000`")?;
    Ok((name.to_owned(), number.to_owned()))
}

/// Parses `x=1,3,32,32`.
pub fn input_shape(text: &str) -> Result<(String, Vec<usize>), String> {
    let (name, sizes) = text.split_once('=').ok_or("must be NAME=SIZES, as `x=1,3,32,32`")?;
    let size = |size: &str| {
        let size = size.trim();
        size.parse().map_err(|_| format!("`{size}` is not a size: sizes are whole numbers from 0"))
    };
    Ok((name.to_owned(), sizes.split(',').map(size).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_quotients() {
        assert_eq!(number("0.5"), Ok(0.5));
        assert_eq!(number("-1/ 4"), Ok(-0.25));
        for none in ["", "x", "1/0", "nan", "inf", "1/2/3", "/2"] {
            assert!(number(none).is_err(), "{none}");
        }
    }

    #[test]
    fn shapes_are_parsed() {
        assert_eq!(size("32x24"), Ok((32, 24)));
        assert!(size("32").is_err() && size("0x2").is_err() && size("half-pixel").is_err());
        assert_eq!(input_shape("x=1, 3,8"), Ok(("x".to_owned(), vec![1, 3, 8])));
        assert!(input_shape("x").is_err() && input_shape("x=1,a").is_err());
        assert_eq!(dimension("batch=8"), Ok(("batch".to_owned(), 8)));
        assert_eq!(dimension("n//2=x=4"), Ok(("n//2=x".to_owned(), 4)));
        assert!(dimension("batch").is_err() && dimension("batch=-1").is_err());
    }
}
