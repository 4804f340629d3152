//! [`Elaborated`]: cells at their positions, with the checks between them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::ConfigError;
use super::parameters::Parameters;
use super::system::Systems;
use crate::config::encoding::Encoding;
use crate::config::fabric::{Cell, Fabric, Options, Place};
use crate::config::revision::Revision;
use crate::config::seed::Choices;

/// Sizes of the buffers, in rows.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Interface {
    input_buffer_depth: Option<i64>,
    output_buffer_depth: Option<i64>,
}

/// npukit's extension of architecture files: revision, and deviations from hardware.
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
    /// Returns the options of a file, with defaults for missing keys. Errors: an encoding that the
    /// revision does not have.
    fn options(&self) -> Result<Options, ConfigError> {
        // Default: a file with only an encoding means the revision that has it.
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
        // Default: npukit's choices where the ISA document is silent.
        let seed = self.seed.unwrap_or_default();
        // Default: a missing key has the revision's value.
        let call_skew = self.call_skew.unwrap_or(own.call_skew);
        Ok(Options { call_skew, extensions: self.extensions, strict: self.strict, seed, ..own })
    }
}

/// Limit for the rows of all memories: 256 MiB.
const MAX_MEMORY_ROWS: usize = 1 << 23;

/// Cells at their positions, before the checks between them.
pub(super) struct Elaborated {
    pub rows: usize,
    pub cols: usize,
    pub cells: Vec<Cell>,
}

impl Elaborated {
    /// Returns the fabric, with the buffers and options of a file.
    ///
    /// # Errors
    ///
    /// The revision does not have the encoding, two cells share a buffer port, or the memories
    /// exceed the limit of the simulator.
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

    /// Returns the fabric.
    ///
    /// # Errors
    ///
    /// Two cells share a buffer port, or the memories exceed the limit of the simulator.
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
    /// Checks that at most one cell per column uses a buffer, as each column has one port to it.
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

/// Largest number of rows, and of columns, of a fabric.
pub(super) const MAX_SIDE: usize = 256;
