//! [`Parameters`]: numbers that libraries, pool entries, placements, cells and fabrics pass to
//! resources.

use std::collections::BTreeMap;

use super::error::ConfigError;
use crate::config::component::Component;

/// Numbers by name, each with its source.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    values: BTreeMap<String, (i64, String)>,
}

impl Parameters {
    /// Creates parameters that have the source `by`.
    pub fn new(by: &str, values: impl IntoIterator<Item = (String, i64)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (name, (value, by.to_owned())));
        Self { values: values.collect() }
    }

    /// Returns the parameters of `self`, replaced by `other` where both have a name.
    pub fn overridden(mut self, other: &Self) -> Self {
        self.values.extend(other.values.clone());
        self
    }

    /// Adds inherited parameters.
    ///
    /// # Errors
    ///
    /// `self` has a parameter of the same name with another value.
    pub fn inherit(mut self, place: &str, other: &Self) -> Result<Self, ConfigError> {
        for (name, (value, by)) in &other.values {
            match self.values.get(name) {
                Some((first, by_first)) if first != value => {
                    return Err(ConfigError::Conflict {
                        place: place.to_owned(),
                        name: name.clone(),
                        first: *first,
                        by_first: by_first.clone(),
                        second: *value,
                        by_second: by.clone(),
                    });
                }
                Some(_) => {}
                None => drop(self.values.insert(name.clone(), (*value, by.clone()))),
            }
        }
        Ok(self)
    }

    /// Returns a parameter, or `default` if it is missing.
    ///
    /// # Errors
    ///
    /// The value is not in `min` to `max`.
    pub fn get(&self, place: &str, name: &str, default: i64, min: i64, max: i64) -> Result<i64, ConfigError> {
        let value = self.values.get(name).map_or(default, |(value, _)| *value);
        if (min..=max).contains(&value) {
            return Ok(value);
        }
        Err(ConfigError::Range { place: place.to_owned(), name: name.to_owned(), value, min, max })
    }

    /// Returns the number of rows of a resource's memory.
    ///
    /// # Errors
    ///
    /// A width or a depth is out of range.
    pub fn memory_rows(&self, place: &str, component: Component) -> Result<usize, ConfigError> {
        let rows = match component {
            // By default, word addresses have 6 bits. The address generator has at most 16 bits.
            Component::Rf => self.get(place, "RF_DEPTH", 64, 16, 1 << 16)? / 16,
            component if component.is_iosram() => 1 << self.get(place, "SRAM_ADDR_WIDTH", 6, 1, 16)?,
            _ => 0,
        };
        Ok(rows as usize)
    }
}
