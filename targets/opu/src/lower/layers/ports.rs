//! Outputs, and what the host asks of the planes of a map.

use npukit_lower::Reject;

use crate::lower::builder::Builder;
use crate::lower::host::HostOutput;
use crate::lower::map::{Piece, PlaneId, View};
use crate::lower::ops::host::OutputPath;

impl Builder<'_> {
    /// The output at the end of a way out, in planes of its own; none when it is refused.
    pub(super) fn bind_output(&mut self, path: OutputPath) -> Option<HostOutput> {
        let OutputPath { value, output } = path;
        match self.view(value) {
            Ok(view) => {
                let view = if self.is_plain(&view) { view } else { self.copied(&view, &output.name) };
                Some(HostOutput { view, ..output })
            }
            Err(reject) => {
                // A node without a view was reported itself.
                if self.graph.constant(value).is_some() {
                    let hint = "leave it out of the outputs: whoever has the model knows it";
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

    /// Whether a view is whole planes of one fraction length.
    fn is_plain(&self, view: &View) -> bool {
        let plane = |piece: &Piece| self.planes.get(piece.plane);
        let whole = |piece: &Piece| piece.lane == 0 && piece.channels == plane(piece).channels;
        let alike = |pair: &[Piece]| plane(&pair[0]).fraction == plane(&pair[1]).fraction;
        self.planes.covers(view) && view.pieces.iter().all(whole) && view.pieces.windows(2).all(alike)
    }

    /// The host addresses all planes of a map alike: their borders become the same.
    pub(super) fn align_borders(&mut self, planes: &[PlaneId]) {
        // Default: without planes there is nothing to align.
        let border = planes.iter().map(|&plane| self.planes.get(plane).border).max().unwrap_or(0);
        planes.iter().for_each(|&plane| self.planes.get_mut(plane).border = border);
    }
}
