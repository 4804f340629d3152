//! [`Elaborated`]: cells in their places, and what holds between them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::ConfigError;
use super::parameters::Parameters;
use super::system::Systems;
use crate::config::encoding::Encoding;
use crate::config::fabric::{Cell, Fabric, Options, Place};
use crate::config::revision::Revision;
use crate::config::seed::Choices;

/// Rows of the buffers.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Interface {
    input_buffer_depth: Option<i64>,
    output_buffer_depth: Option<i64>,
}

/// Ours: which revision it is, and what is not hardware.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileOptions {
    revision: Option<Revision>,
    call_skew: Option<u32>,
    #[serde(default)]
    extensions: bool,
    #[serde(default)]
    strict: bool,
    encoding: Option<Encoding>,
    seed: Option<Choices>,
}

impl FileOptions {
    /// What a file says, and what follows for what it does not say. Errors: an encoding that the revision has not.
    fn options(&self) -> Result<Options, ConfigError> {
        // Default: a file that says the encoding only means the revision that has it.
        let revision = self.revision.unwrap_or(match self.encoding {
            Some(Encoding::Later) => Revision::Later,
            _ => Revision::Released,
        });
        let own = Options::of(revision);
        if self.encoding.is_some_and(|encoding| encoding != own.encoding) {
            return Err(ConfigError::Encoding { revision: revision.name() });
        }
        if self.seed.is_some() && !revision.is_seed() {
            return Err(ConfigError::Seed { revision: revision.name() });
        }
        // Default: what the seed's text leaves open is as we choose.
        let seed = self.seed.unwrap_or_default();
        // Default: what a file does not say is as in its revision.
        let call_skew = self.call_skew.unwrap_or(own.call_skew);
        Ok(Options { call_skew, extensions: self.extensions, strict: self.strict, seed, ..own })
    }
}

/// Rows of all memories together: 256 MiB.
const MAX_MEMORY_ROWS: usize = 1 << 23;

/// Cells in their places, before what holds between them is checked.
pub(super) struct Elaborated {
    pub rows: usize,
    pub cols: usize,
    pub cells: Vec<Cell>,
}

impl Elaborated {
    /// The fabric, with what a file says of buffers and options.
    ///
    /// # Errors
    ///
    /// An encoding that the revision does not have, two cells at one port of a buffer, memories beyond what a
    /// simulation may take.
    pub fn finish(self, interface: &Interface, options: &FileOptions) -> Result<Fabric, ConfigError> {
        let depth = |depth: Option<i64>, name: &str| {
            let given = Parameters::new("interface", depth.map(|depth| (name.to_owned(), depth)));
            given.get("interface", name, 1 << 16, 1, 1 << 16).map(|depth| depth as usize)
        };
        let options = options.options()?;
        self.check(
            depth(interface.input_buffer_depth, "input_buffer_depth")?,
            depth(interface.output_buffer_depth, "output_buffer_depth")?,
            options,
        )
    }

    /// The fabric.
    ///
    /// # Errors
    ///
    /// Two cells at one port of a buffer, memories beyond what a simulation may take.
    pub fn check(
        self,
        input_depth: usize,
        output_depth: usize,
        options: Options,
    ) -> Result<Fabric, ConfigError> {
        let Self { rows, cols, cells } = self;
        let memory_rows = cells.iter().flat_map(|cell| &cell.resources).map(|resource| resource.rows).sum();
        if memory_rows > MAX_MEMORY_ROWS {
            return Err(ConfigError::Memory { rows: memory_rows, most: MAX_MEMORY_ROWS });
        }
        let fabric =
            Fabric { rows, cols, cells, input_depth, output_depth, options, systems: Systems::default() };
        fabric.check_buffer("input", Cell::has_input)?;
        fabric.check_buffer("output", Cell::has_output)?;
        Ok(fabric)
    }
}

impl Fabric {
    /// Each column has one port to a buffer.
    fn check_buffer(&self, buffer: &'static str, uses: fn(&Cell) -> bool) -> Result<(), ConfigError> {
        let mut users: BTreeMap<usize, Place> = BTreeMap::new();
        for (place, cell) in self.places().zip(&self.cells) {
            if !uses(cell) {
                continue;
            }
            if let Some(first) = users.insert(place.col, place) {
                return Err(ConfigError::Shared { first, second: place, buffer });
            }
        }
        Ok(())
    }
}

/// Rows and columns that any fabric may have.
pub(super) const MAX_SIDE: usize = 256;
