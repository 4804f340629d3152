//! [`Unbuildable`]: why an instance has no circuit.

/// A parameter whose value the circuit does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{parameter}` is {value}, but the circuit supports {legal}")]
pub struct Limit {
    /// Name in the configuration.
    pub parameter: String,
    /// Value of the parameter.
    pub value: String,
    /// Description of the legal values.
    pub legal: String,
}

impl Limit {
    /// Creates the limit that a parameter exceeds.
    pub fn new(parameter: &str, value: impl ToString, legal: impl Into<String>) -> Self {
        Self { parameter: parameter.to_owned(), value: value.to_string(), legal: legal.into() }
    }

    /// Returns the limit, or `None` if the value is legal.
    pub fn unless(is_legal: bool, parameter: &str, value: impl ToString, legal: &str) -> Option<Self> {
        (!is_legal).then(|| Self::new(parameter, value, legal))
    }
}

/// All parameters that the circuit does not support; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the circuit does not support this instance: {}", message(.0))]
pub struct Unbuildable(Vec<Limit>);

impl Unbuildable {
    /// Succeeds if no limit is exceeded.
    ///
    /// # Errors
    ///
    /// All exceeded limits.
    pub fn check(limits: impl IntoIterator<Item = Option<Limit>>) -> Result<(), Self> {
        let passed: Vec<Limit> = limits.into_iter().flatten().collect();
        if passed.is_empty() { Ok(()) } else { Err(Self(passed)) }
    }

    /// Returns the exceeded limits.
    pub fn limits(&self) -> &[Limit] {
        &self.0
    }
}

fn message(limits: &[Limit]) -> String {
    limits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_told() {
        let message = Unbuildable::check([
            Limit::unless(true, "depth", 8, "2 or more"),
            Limit::unless(false, "array_size", 1, "2 to 64"),
            Limit::unless(false, "data_type", "FLOAT32", "fixed-point formats"),
        ]);
        let wanted = "the circuit does not support this instance: `array_size` is 1, but the circuit supports 2 to 64; \
                      `data_type` is FLOAT32, but the circuit supports fixed-point formats";
        assert_eq!(message.map_err(|error| error.to_string()), Err(wanted.to_owned()));
        assert_eq!(Unbuildable::check([None]), Ok(()));
    }
}
