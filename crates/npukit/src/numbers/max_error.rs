//! [`MaxError`]: the largest difference from float that is accepted, `--max-error`.

use crate::report::comparison::Comparison;

/// Largest accepted difference from float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaxError {
    /// Absolute difference.
    Absolute(f64),
    /// Share of the float output's range; 0.05 is 5 %.
    Relative(f64),
}

impl MaxError {
    /// Parses `0.05` or `5%`; returns `None` for other text.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse().ok().filter(|x: &f64| *x >= 0.0 && x.is_finite());
        match text.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| Self::Relative(percent / 100.0)),
            None => number(text).map(Self::Absolute),
        }
    }

    /// Returns the violations, one sentence each: a difference above the limit, and outputs without
    /// information.
    pub(crate) fn failures(self, found: &Comparison) -> Vec<String> {
        let difference = found.max_abs_error;
        let too_large = match self {
            // NaN is above any limit.
            Self::Absolute(limit) if difference <= limit => None,
            Self::Absolute(limit) => Some(format!(
                "the largest difference to float is {difference:.6}, above the limit of {limit}"
            )),
            Self::Relative(limit) => match found.relative_error {
                Some(share) if share <= limit => None,
                None if difference == 0.0 => None,
                share => Some(format!(
                    "the largest difference to float is {} of the output's range, above the limit of {} %",
                    share.map_or_else(|| "no share".to_owned(), |share| format!("{:.3} %", share * 100.0)),
                    limit * 100.0
                )),
            },
        };
        let empty = (!found.informative).then(|| NO_INFORMATION.to_owned());
        too_large.into_iter().chain(empty).collect()
    }
}

/// Message for outputs that are as far from float as float's own mean.
pub(crate) const NO_INFORMATION: &str = "the outputs carry no information: they differ from float as much as float's outputs differ from their own mean";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_shares() {
        assert_eq!(MaxError::parse("0.05"), Some(MaxError::Absolute(0.05)));
        assert_eq!(MaxError::parse("5%"), Some(MaxError::Relative(0.05)));
        for text in ["", "%", "-1", "nan", "inf", "5 %x", "1e999"] {
            assert_eq!(MaxError::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_limit_holds_for_what_is_within_it() {
        let found = Comparison {
            max_abs_error: 0.5,
            rms_error: 0.1,
            relative_error: Some(0.1),
            signal_to_noise_db: Some(20.0),
            snr_db: Some(20.0),
            argmax_agree: None,
            informative: true,
        };
        let failures = |limit: MaxError, found: Comparison| limit.failures(&found).len();
        for (limit, expected) in [
            (MaxError::Absolute(0.5), 0),
            (MaxError::Absolute(0.4), 1),
            (MaxError::Relative(0.1), 0),
            (MaxError::Relative(0.09), 1),
        ] {
            assert_eq!(failures(limit, found), expected, "{limit:?}");
        }
        let nan = Comparison { max_abs_error: f64::NAN, relative_error: None, ..found };
        assert_eq!((failures(MaxError::Absolute(9.0), nan), failures(MaxError::Relative(9.0), nan)), (1, 1));
        let empty = Comparison { informative: false, ..found };
        assert_eq!(failures(MaxError::Absolute(9.0), empty), 1, "small, but nothing is right");
    }
}
