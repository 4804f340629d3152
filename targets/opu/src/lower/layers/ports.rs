//! Outputs, and the requirements of the host on the planes of a map.

use npukit_lower::Reject;

use crate::lower::builder::Builder;
use crate::lower::host::HostOutput;
use crate::lower::map::{Piece, PlaneId, View};
use crate::lower::ops::host::OutputPath;

impl Builder<'_> {
    /// Returns the output at the end of a path, in separate planes; `None` if it is rejected.
    pub(super) fn bind_output(&mut self, path: OutputPath) -> Option<HostOutput> {
        let OutputPath { value, output } = path;
        match self.view(value) {
            Ok(view) => {
                let view = if self.is_plain(&view) { view } else { self.copied(&view, &output.name) };
                Some(HostOutput { view, ..output })
            }
            Err(reject) => {
                // A node without a view has already been reported.
                if self.graph.constant(value).is_some() {
                    let hint = "remove it from the outputs: its value is known from the model";
                    self.fusion.report(
                        &output.name,
                        "output",
                        Reject::new("it is a constant: nothing computes it", hint),
                    );
                } else if self.fusion.readers.producer(value).is_none() {
                    self.fusion.report(&output.name, "output", reject);
                }
                None
            }
        }
    }

    /// Whether a view consists of whole planes with the same fraction length.
    fn is_plain(&self, view: &View) -> bool {
        let plane = |piece: &Piece| self.planes.get(piece.plane);
        let whole = |piece: &Piece| piece.lane == 0 && piece.channels == plane(piece).channels;
        let alike = |pair: &[Piece]| plane(&pair[0]).fraction == plane(&pair[1]).fraction;
        self.planes.covers(view) && view.pieces.iter().all(whole) && view.pieces.windows(2).all(alike)
    }

    /// Makes the borders of all planes of a map equal, since the host addresses them alike.
    pub(super) fn align_borders(&mut self, planes: &[PlaneId]) {
        // Default: without planes there is nothing to align.
        let border = planes.iter().map(|&plane| self.planes.get(plane).border).max().unwrap_or(0);
        planes.iter().for_each(|&plane| self.planes.get_mut(plane).border = border);
    }
}
