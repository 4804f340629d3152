//! Copies of feature maps, where an instruction cannot read what is there.

use npukit_lower::Reject;

use crate::lower::builder::Builder;
use crate::lower::layer::{Layer, Post};
use crate::lower::limits::{BORDER, MAP};
use crate::lower::map::{Piece, View};
use crate::lower::product::{Part, Product, Term, Weights};

impl Builder<'_> {
    /// `view` such that `reach` zeros on all sides of it can be read: a copy, when it is part of another.
    ///
    /// # Errors
    ///
    /// More than a border has room for, or an image that is too large with it.
    pub fn bordered(&mut self, view: View, name: &str, reach: usize) -> Result<View, Reject> {
        if reach > BORDER {
            return Err(Reject::new(
                format!("it reads {reach} pixels beyond the image, at most {BORDER} are possible"),
                "use a smaller padding",
            ));
        }
        if let Some(size) = view.size.iter().find(|&&size| size + 2 * reach > MAP) {
            return Err(Reject::new(
                format!(
                    "its operand has {size} pixels along an axis, with a border of {reach} more than {MAP}"
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

    /// A feature map with the elements of `view`, in planes of its own.
    pub fn copied(&mut self, view: &View, name: &str) -> View {
        let fraction = self.planes.coarsest_fraction(view);
        let output = self.planes.new_map(&format!("{name}/copy"), view.size, view.channels(), fraction);
        self.copy_into(view, output.clone(), name);
        output
    }

    /// A layer that copies `view` to `output`.
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

/// The terms that take each channel of `view` to the same channel of the result, times `factor`.
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
