//! Tensors of the model to and from feature maps in memory, as a [`Binding`] says.

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::machine::{AccessError, Machine};
use crate::program::layout::{LayoutError, Planes};
use crate::program::{Binding, Patches};

/// Elements of the largest map that is read or written in one go.
const MAX_ELEMENTS: u64 = 1 << 26;

/// Why a binding contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// `perm` is not a permutation of the axes.
    #[error("perm {perm:?} is not a permutation of the axes of shape {shape:?}")]
    Perm {
        /// As given.
        perm: Vec<usize>,
        /// Shape of the tensor.
        shape: Vec<usize>,
    },
    /// The map has other channels than the tensor, or another number of pixels.
    #[error(
        "a tensor of shape {shape:?} in order {perm:?} is a map of {tensor:?}, and the planes are one of {planes:?}"
    )]
    Shape {
        /// Shape of the tensor.
        shape: Vec<usize>,
        /// Order of its axes.
        perm: Vec<usize>,
        /// Rows, columns and channels by the tensor.
        tensor: [u64; 3],
        /// Rows, columns and channels by the planes.
        planes: [u64; 3],
    },
    /// Patches without size or step, or of an output.
    #[error("patches of {kernel:?} with steps of {stride:?}: legal are 1 to 65535, for inputs")]
    Patches {
        /// Rows and columns.
        kernel: [u32; 2],
        /// Rows and columns from patch to patch.
        stride: [u32; 2],
    },
    /// A fraction that no type can use.
    #[error("a fraction of {fraction} bits: legal are -256 to 256")]
    Fraction {
        /// As given.
        fraction: i32,
    },
    /// More elements than a run keeps in memory.
    #[error("a map of {elements} elements: at most {} are supported", MAX_ELEMENTS)]
    Size {
        /// Elements of the map.
        elements: u64,
    },
    /// The planes are not a layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Raw values of a map, row-major, and how many of the tensor's did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Raw values.
    pub raw: Vec<i32>,
    /// Values beyond the type's range, and NaNs.
    pub saturated: u64,
}

impl Binding {
    /// Rows, columns and channels of the tensor in the map's order of axes.
    fn map_shape(&self) -> Option<[usize; 3]> {
        let sizes: Vec<usize> = self.perm.iter().filter_map(|&axis| self.shape.get(axis)).copied().collect();
        let (channels, rest) = sizes.split_last().map_or((1, &[][..]), |(&last, rest)| (last, rest));
        let (columns, rest) = rest.split_last().map_or((1, rest), |(&last, rest)| (last, rest));
        let rows = rest.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
        rows.checked_mul(columns)?.checked_mul(channels)?;
        Some([rows, columns, channels])
    }

    /// Elements of the tensor.
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |product: usize, &size| product.saturating_mul(size))
    }

    /// Whether it is one that a program may have, with elements of type `itype`.
    ///
    /// # Errors
    ///
    /// [`BindingError`] for the first rule broken: axes that are not a permutation, a fraction beyond 256
    /// bits, planes that [`Planes::check`] refuses, too many elements, a shape that does not fit the map;
    /// patches anywhere but at an input (`is_input`).
    pub fn check(&self, itype: DataType, is_input: bool) -> Result<(), BindingError> {
        let mut axes = self.perm.clone();
        axes.sort_unstable();
        let is_permutation =
            axes.len() == self.shape.len() && axes.iter().enumerate().all(|(i, &axis)| i == axis);
        if !is_permutation {
            return Err(BindingError::Perm { perm: self.perm.clone(), shape: self.shape.clone() });
        }
        if !(-256..=256).contains(&self.fraction) {
            return Err(BindingError::Fraction { fraction: self.fraction });
        }
        self.planes.check(itype.size_bytes())?;
        // Both factors are bounded: the planes lie in memory.
        let elements = u64::from(self.planes.height) * u64::from(self.planes.width) * self.planes.channels();
        if elements > MAX_ELEMENTS {
            return Err(BindingError::Size { elements });
        }
        if let Some(Patches { kernel, stride, .. }) = self.patches {
            let legal = kernel.iter().chain(&stride).all(|size| (1..1 << 16).contains(size));
            if !is_input || !legal {
                return Err(BindingError::Patches { kernel, stride });
            }
        }
        self.check_shape()
    }

    fn check_shape(&self) -> Result<(), BindingError> {
        let planes = [self.planes.height.into(), self.planes.width.into(), self.planes.channels()];
        let tensor = self.map_shape().map_or([u64::MAX; 3], |shape| shape.map(|size| size as u64));
        let agree = match self.patches {
            Some(Patches { kernel: [kh, kw], .. }) => {
                tensor[2].saturating_mul(u64::from(kh) * u64::from(kw)) == planes[2]
            }
            // Pixels follow each other row by row, however many are in a row of the planes.
            None => {
                let pixels = |[rows, columns, _]: [u64; 3]| rows.checked_mul(columns);
                tensor[2] == planes[2] && pixels(tensor).is_some() && pixels(tensor) == pixels(planes)
            }
        };
        if agree {
            return Ok(());
        }
        Err(BindingError::Shape { shape: self.shape.clone(), perm: self.perm.clone(), tensor, planes })
    }

    /// For each element of the tensor in the map's order, its place in the model's.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut strides = vec![1usize; self.shape.len()];
        for axis in (1..self.shape.len()).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis];
        }
        let mut order = vec![0usize];
        for &axis in &self.perm {
            let (size, stride) = (self.shape[axis], strides[axis]);
            order = order.iter().flat_map(|&place| (0..size).map(move |i| place + i * stride)).collect();
        }
        order
    }

    /// Real values in the model's order as raw values of the map. The binding passes [`Binding::check`], and
    /// there are [`Binding::elements`] values.
    pub fn pack(&self, itype: DataType, values: &[f32]) -> Packed {
        let scale = f64::from(self.fraction).exp2();
        let scaled = |value: f32| f64::from(value) * scale;
        let [low, high] = [f64::NEG_INFINITY, f64::INFINITY].map(|end| itype.to_f64(itype.from_f64(end)));
        let half = itype.fixed().map_or(0.0, |fixed| f64::from(-fixed.fraction() - 1).exp2());
        let fits = |value: f64| value >= low - half && value < high + half || value == high;
        let saturated = values.iter().filter(|&&value| !fits(scaled(value))).count() as u64;
        let ordered = self.order().into_iter();
        let raw = ordered.map(|place| itype.from_f64(scaled(values[place]))).collect();
        Packed { raw: self.patched(raw), saturated }
    }

    /// The patches of a tensor in the map's order; the tensor itself without patches.
    pub(crate) fn patched<T: Clone + Default>(&self, raw: Vec<T>) -> Vec<T> {
        let (Some(patches), Some([rows, columns, channels])) = (self.patches, self.map_shape()) else {
            return raw;
        };
        let [kh, kw] = patches.kernel;
        let inside = |place: u32, step: u32, offset: u32, padding: u32, size: usize| {
            let place =
                (u64::from(place) * u64::from(step) + u64::from(offset)).checked_sub(padding.into())?;
            usize::try_from(place).ok().filter(|&place| place < size)
        };
        // Default: only a capacity, which grows when it is too small.
        let mut map = Vec::with_capacity(self.planes.elements().unwrap_or(0));
        for (y, x) in (0..self.planes.height).flat_map(|y| (0..self.planes.width).map(move |x| (y, x))) {
            for (r, s) in (0..kh).flat_map(|r| (0..kw).map(move |s| (r, s))) {
                let row = inside(y, patches.stride[0], r, patches.padding[0], rows);
                let column = inside(x, patches.stride[1], s, patches.padding[1], columns);
                let first = row.zip(column).map(|(row, column)| (row * columns + column) * channels);
                match first.and_then(|first| raw.get(first..first + channels)) {
                    Some(pixel) => map.extend_from_slice(pixel),
                    None => map.resize(map.len() + channels, T::default()),
                }
            }
        }
        map
    }

    /// Raw values of a map without patches in the model's order.
    pub fn unpack<T: Clone + Default>(&self, map: &[T]) -> Vec<T> {
        let mut raw = vec![T::default(); self.elements()];
        for (place, value) in self.order().into_iter().zip(map) {
            if let Some(slot) = raw.get_mut(place) {
                *slot = value.clone();
            }
        }
        raw
    }

    /// The number that a raw value stands for.
    pub fn value(&self, itype: DataType, raw: i32) -> f32 {
        (itype.to_f64(raw) * f64::from(-self.fraction).exp2()) as f32
    }
}

impl Planes {
    /// Writes a map's raw values, row-major; there are as many as the map has elements. Lanes after the
    /// channels of a group become 0.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] when a plane does not lie in memory.
    pub fn write(&self, machine: &mut Machine, raw: &[i32]) -> Result<(), AccessError> {
        let size = size(machine.types());
        let mut rest = raw;
        for (address, group) in self.runs(size as u32) {
            let (run, after) = rest.split_at((group.channels as usize).min(rest.len()));
            rest = after;
            let mut bytes: Vec<u8> =
                run.iter().flat_map(|raw| raw.to_le_bytes().into_iter().take(size)).collect();
            bytes.resize(group.written() as usize * size, 0);
            machine.write(address, &bytes)?;
        }
        Ok(())
    }

    /// Reads a map's raw values, row-major. Bits that are not a finite number are read as they are.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] when a plane does not lie in memory.
    pub fn read(&self, machine: &Machine) -> Result<Vec<i32>, AccessError> {
        let (itype, size) = (machine.types().itype, size(machine.types()));
        let mut raw = Vec::new();
        let mut bytes = Vec::new();
        for (address, group) in self.runs(size as u32) {
            bytes.resize(group.channels as usize * size, 0);
            machine.read(address, &mut bytes)?;
            for element in bytes.chunks_exact(size) {
                let mut word = [0; 4];
                word[..size].copy_from_slice(element);
                let bits = u32::from_le_bytes(word);
                raw.push(itype.raw(bits).unwrap_or(bits.cast_signed()));
            }
        }
        Ok(raw)
    }
}

const fn size(types: &Types) -> usize {
    types.itype.size_bytes() as usize
}
