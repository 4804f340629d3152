//! Literal evaluation of layers: no tiles, no addresses, one sum after the other.

use npukit_opu::internals::config::Types;
use npukit_opu::internals::lower::Lowered;
use npukit_opu::internals::lower::constants::{BlockPlan, LoadPlan};
use npukit_opu::internals::lower::layer::{Layer, Pooling, Step};
use npukit_opu::internals::lower::map::{PlaneId, View};
use npukit_opu::internals::op::Activation;

/// Integers by row, column and channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub size: [usize; 2],
    pub channels: usize,
    pub data: Vec<i64>,
}

impl Image {
    pub fn new(size: [usize; 2], channels: usize) -> Self {
        Self { size, channels, data: vec![0; size[0] * size[1] * channels] }
    }

    fn index(&self, [y, x]: [usize; 2], c: usize) -> usize {
        (y * self.size[1] + x) * self.channels + c
    }

    /// Returns the element, or 0 outside of the image.
    pub fn at(&self, at: [isize; 2], c: usize) -> i64 {
        let [Ok(y), Ok(x)] = at.map(usize::try_from) else { return 0 };
        let inside = y < self.size[0] && x < self.size[1] && c < self.channels;
        if inside { self.data[self.index([y, x], c)] } else { 0 }
    }

    pub fn set(&mut self, at: [usize; 2], c: usize, value: i64) {
        let index = self.index(at, c);
        self.data[index] = value;
    }

    fn map(&self, function: impl Fn([usize; 2], usize, i64) -> i64) -> Self {
        let mut image = self.clone();
        for y in 0..self.size[0] {
            for x in 0..self.size[1] {
                for c in 0..self.channels {
                    image.set([y, x], c, function([y, x], c, self.data[self.index([y, x], c)]));
                }
            }
        }
        image
    }
}

/// Returns `2^-places * numerator` rounded to nearest, ties upwards, saturated to `width` bits.
fn round(numerator: i128, places: i32, width: u32) -> i64 {
    let rounded = if places > 0 { (numerator + (1 << (places - 1))) >> places } else { numerator << -places };
    let largest = (1i128 << (width - 1)) - 1;
    rounded.clamp(-largest - 1, largest) as i64
}

fn width(data_type: npukit_opu::DataType) -> u32 {
    data_type.fixed().unwrap().width()
}

/// Computes one layer on `planes`, which hold the results of earlier layers.
pub fn layer(lowered: &Lowered, types: &Types, index: usize, planes: &mut [Image]) {
    let layer = &lowered.model.layers[index];
    for (block, plan) in lowered.blocks[index].iter().enumerate() {
        let mut image = Image::new(layer.product.size, plan.columns.len());
        for y in 0..image.size[0] {
            for x in 0..image.size[1] {
                for k in 0..plan.columns.len() {
                    let sum = sum(lowered, types, layer, plan, planes, [y, x], k);
                    image.set([y, x], k, round(sum.into(), -types.store_shift(), width(types.itype)));
                }
            }
        }
        for step in layer.post.steps() {
            image = post(step, &image, block, types, planes);
        }
        write(layer, block, &image, planes);
    }
}

/// Returns one partial sum, rounded after every tap.
fn sum(
    lowered: &Lowered,
    types: &Types,
    layer: &Layer,
    plan: &BlockPlan,
    planes: &[Image],
    pixel: [usize; 2],
    k: usize,
) -> i64 {
    let size = types.btype.size_bytes() as usize;
    let bias = |at| integer(&lowered.constants.biases, at + k * size, size);
    let mut sum = plan.bias.map(|at| (bias(at), plan.bias_shift));
    for LoadPlan { load, chunks, shift } in &plan.loads {
        let strides = layer.product.parts[load.taps[0].part].strides;
        for chunk in chunks {
            for &(offset, slice) in &chunk.taps {
                let at =
                    [0, 1].map(|axis| load.at[axis] + (offset[axis] + strides[axis] * pixel[axis]) as isize);
                let weight = |lane: usize| {
                    let size = types.ktype.size_bytes() as usize;
                    let element = (slice * plan.filters + k) * load.lanes + lane;
                    integer(&lowered.constants.weights, chunk.at + element * size, size)
                };
                let dot: i64 =
                    (0..load.lanes).map(|lane| weight(lane) * planes[load.plane.0].at(at, lane)).sum();
                let (addend, addend_shift) = sum.unwrap_or((0, 0));
                let places = 0.max(-*shift).max(-addend_shift);
                let total =
                    (i128::from(dot) << (places + shift)) + (i128::from(addend) << (places + addend_shift));
                sum = Some((round(total, places, width(types.otype)), 0));
            }
        }
    }
    sum.map_or(0, |(sum, _)| sum)
}

fn integer(bytes: &[u8], at: usize, size: usize) -> i64 {
    let mut wide = [0; 8];
    wide[..size].copy_from_slice(&bytes[at..at + size]);
    let unused = 64 - 8 * size as u32;
    i64::from_le_bytes(wide) << unused >> unused
}

fn post(step: &Step, image: &Image, block: usize, types: &Types, planes: &[Image]) -> Image {
    let saturated = |value: i64| round(value.into(), 0, width(types.itype));
    match step {
        Step::Activation(Activation::None) => image.clone(),
        Step::Activation(Activation::Relu) => image.map(|_, _, value| value.max(0)),
        Step::Activation(Activation::Leaky) => {
            image.map(|_, _, value| if value < 0 { round(value.into(), 3, 32) } else { value })
        }
        Step::Residual(View { pieces, .. }) => image.map(|[y, x], c, value| {
            let (piece, at) = (&pieces[block], [y, x]);
            let at = [0, 1].map(|axis| (piece.origin[axis] + at[axis]) as isize);
            saturated(value + planes[piece.plane.0].at(at, c))
        }),
        Step::Pool(Pooling([rows, columns])) => {
            let mut pooled = Image::new([rows.count, columns.count], image.channels);
            for i in 0..rows.count {
                for j in 0..columns.count {
                    for c in 0..image.channels {
                        let mut maximum = i64::MIN;
                        for a in (i * rows.stride)..(i * rows.stride + rows.window) {
                            for b in (j * columns.stride)..(j * columns.stride + columns.window) {
                                let inside = (rows.before..rows.before + rows.size).contains(&a)
                                    && (columns.before..columns.before + columns.size).contains(&b);
                                if inside {
                                    let at = [a - rows.before, b - columns.before].map(|at| at as isize);
                                    maximum = maximum.max(image.at(at, c));
                                }
                            }
                        }
                        pooled.set([i, j], c, maximum);
                    }
                }
            }
            pooled
        }
    }
}

fn write(layer: &Layer, block: usize, image: &Image, planes: &mut [Image]) {
    let piece = &layer.output.pieces[block];
    let PlaneId(plane) = piece.plane;
    for y in 0..image.size[0] * layer.copies[0] {
        for x in 0..image.size[1] * layer.copies[1] {
            for c in 0..image.channels {
                let value = image.at([(y / layer.copies[0]) as isize, (x / layer.copies[1]) as isize], c);
                planes[plane].set([piece.origin[0] + y, piece.origin[1] + x], c, value);
            }
        }
    }
}
