//! [`Unbuildable`]: why there is no circuit of an instance.

/// A parameter that the circuit does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{parameter}` is {value}: a circuit takes {legal}")]
pub struct Limit {
    /// Its name in the configuration.
    pub parameter: String,
    /// What it is.
    pub value: String,
    /// What it may be.
    pub legal: String,
}

impl Limit {
    /// The limit that a parameter passes.
    pub fn new(parameter: &str, value: impl ToString, legal: impl Into<String>) -> Self {
        Self { parameter: parameter.to_owned(), value: value.to_string(), legal: legal.into() }
    }

    /// The same, unless the value is legal.
    pub fn unless(is_legal: bool, parameter: &str, value: impl ToString, legal: &str) -> Option<Self> {
        (!is_legal).then(|| Self::new(parameter, value, legal))
    }
}

/// Every parameter of which there is no circuit; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no circuit of this instance: {}", told(.0))]
pub struct Unbuildable(Vec<Limit>);

impl Unbuildable {
    /// Nothing when no limit is passed.
    ///
    /// # Errors
    ///
    /// All limits that are.
    pub fn check(limits: impl IntoIterator<Item = Option<Limit>>) -> Result<(), Self> {
        let passed: Vec<Limit> = limits.into_iter().flatten().collect();
        if passed.is_empty() { Ok(()) } else { Err(Self(passed)) }
    }

    /// The limits.
    pub fn limits(&self) -> &[Limit] {
        &self.0
    }
}

fn told(limits: &[Limit]) -> String {
    limits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_told() {
        let told = Unbuildable::check([
            Limit::unless(true, "depth", 8, "2 or more"),
            Limit::unless(false, "array_size", 1, "2 to 64"),
            Limit::unless(false, "data_type", "FLOAT32", "fixed-point formats"),
        ]);
        let wanted = "there is no circuit of this instance: `array_size` is 1: a circuit takes 2 to 64; `data_type` is \
                      FLOAT32: a circuit takes fixed-point formats";
        assert_eq!(told.map_err(|error| error.to_string()), Err(wanted.to_owned()));
        assert_eq!(Unbuildable::check([None]), Ok(()));
    }
}
