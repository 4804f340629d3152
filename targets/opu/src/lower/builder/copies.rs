//! Copies of feature maps for instructions that cannot read the existing ones.

use npukit_lower::Reject;

use crate::lower::builder::Builder;
use crate::lower::layer::{Layer, Post};
use crate::lower::limits::{BORDER, MAP};
use crate::lower::map::{Piece, View};
use crate::lower::product::{Part, Product, Term, Weights};

impl Builder<'_> {
    /// Returns `view`, or a copy if it is part of another map, such that `reach` zeros on all sides
    /// of it can be read.
    ///
    /// # Errors
    ///
    /// The zeros exceed the maximum border, or the image is too large with them.
    pub fn bordered(&mut self, view: View, name: &str, reach: usize) -> Result<View, Reject> {
        if reach > BORDER {
            return Err(Reject::new(
                format!("it reads {reach} pixels beyond the image; the maximum is {BORDER}"),
                "use a smaller padding",
            ));
        }
        if let Some(size) = view.size.iter().find(|&&size| size + 2 * reach > MAP) {
            return Err(Reject::new(
                format!(
                    "its operand has {size} pixels along an axis and a border of {reach}: together more than {MAP}"
                ),
                "use a smaller image",
            ));
        }
        let view = if reach > 0 && !self.planes.covers(&view) { self.copied(&view, name) } else { view };
        for piece in &view.pieces {
            let plane = self.planes.get_mut(piece.plane);
            plane.border = plane.border.max(reach);
        }
        Ok(view)
    }

    /// Returns a feature map with the elements of `view`, in new planes.
    pub fn copied(&mut self, view: &View, name: &str) -> View {
        let fraction = self.planes.coarsest_fraction(view);
        let output = self.planes.new_map(&format!("{name}/copy"), view.size, view.channels(), fraction);
        self.copy_into(view, output.clone(), name);
        output
    }

    /// Adds a layer that copies `view` to `output`.
    pub fn copy_into(&mut self, view: &View, output: View, name: &str) {
        let product = Product {
            size: view.size,
            channels: view.channels(),
            parts: vec![identity(view, 1.0)],
            factors: None,
            bias: None,
        };
        let (name, post) = (format!("copy for {name}"), Post::default());
        self.layers.push(Layer {
            name,
            nodes: Vec::new(),
            macs: 0,
            product,
            post,
            copies: [1, 1],
            output,
            result: None,
        });
    }
}

/// Returns the terms that copy each channel of `view` to the same channel of the result, times
/// `factor`.
pub fn identity(view: &View, factor: f32) -> Part {
    let mut row = 0;
    let term = |piece: &Piece| {
        row += piece.channels;
        let at = piece.origin.map(|at| at as isize);
        Term { plane: piece.plane, lane: piece.lane, channels: piece.channels, at, row: row - piece.channels }
    };
    let terms = view.pieces.iter().map(term).collect();
    Part { weights: Weights::identity(view.channels(), factor), strides: [1, 1], terms }
}
