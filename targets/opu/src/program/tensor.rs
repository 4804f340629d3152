//! Conversion between tensors of the model and feature maps in memory, according to a [`Binding`].

use crate::config::Types;
use crate::config::datatype::DataType;
use crate::machine::{AccessError, Machine};
use crate::program::layout::{LayoutError, Planes};
use crate::program::{Binding, Patches};

/// Maximum elements of a map that can be read or written at once.
const MAX_ELEMENTS: u64 = 1 << 26;

/// Inconsistency in a binding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// `perm` is not a permutation of the axes.
    #[error("perm {perm:?} is not a permutation of the axes of shape {shape:?}")]
    Perm {
        /// Permutation as given.
        perm: Vec<usize>,
        /// Shape of the tensor.
        shape: Vec<usize>,
    },
    /// The map has different channels than the tensor, or a different number of pixels.
    #[error(
        "a tensor of shape {shape:?} in order {perm:?} is a map of {tensor:?}, but the planes are a map of {planes:?}"
    )]
    Shape {
        /// Shape of the tensor.
        shape: Vec<usize>,
        /// Order of the tensor's axes.
        perm: Vec<usize>,
        /// Rows, columns and channels of the tensor.
        tensor: [u64; 3],
        /// Rows, columns and channels of the planes.
        planes: [u64; 3],
    },
    /// Patches have no size or step, or belong to an output.
    #[error("patches of {kernel:?} with steps of {stride:?}: legal values are 1 to 65535, for inputs only")]
    Patches {
        /// Rows and columns of a patch.
        kernel: [u32; 2],
        /// Distance between adjacent patches, in rows and columns.
        stride: [u32; 2],
    },
    /// The fraction length is out of range.
    #[error("a fraction of {fraction} bits: legal values are -256 to 256")]
    Fraction {
        /// Fraction length as given.
        fraction: i32,
    },
    /// The map has more elements than a run can hold.
    #[error("a map of {elements} elements: at most {} are supported", MAX_ELEMENTS)]
    Size {
        /// Elements of the map.
        elements: u64,
    },
    /// The planes are not a valid layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Raw values of a map, row-major, and the number of tensor elements that saturated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Raw values of the map.
    pub raw: Vec<i32>,
    /// Number of values out of the type's range, and NaNs.
    pub saturated: u64,
}

impl Binding {
    /// Returns rows, columns and channels of the tensor in the map's axis order.
    fn map_shape(&self) -> Option<[usize; 3]> {
        let sizes: Vec<usize> = self.perm.iter().filter_map(|&axis| self.shape.get(axis)).copied().collect();
        let (channels, rest) = sizes.split_last().map_or((1, &[][..]), |(&last, rest)| (last, rest));
        let (columns, rest) = rest.split_last().map_or((1, rest), |(&last, rest)| (last, rest));
        let rows = rest.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
        rows.checked_mul(columns)?.checked_mul(channels)?;
        Some([rows, columns, channels])
    }

    /// Returns the number of elements of the tensor.
    pub fn elements(&self) -> usize {
        self.shape.iter().fold(1, |product: usize, &size| product.saturating_mul(size))
    }

    /// Checks the binding for elements of type `itype`.
    ///
    /// # Errors
    ///
    /// [`BindingError`] for the first violated rule: axes that are not a permutation, a fraction
    /// beyond 256 bits, planes that [`Planes::check`] rejects, too many elements, a shape that does
    /// not fit the map, or patches that do not belong to an input (`is_input`).
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
        // The planes are inside memory, so both factors are bounded and the product does not
        // overflow.
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
            // Pixels are contiguous row by row, so the row length of the planes does not matter.
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

    /// Returns for each element of the tensor in the map's order its index in the model's order.
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

    /// Converts real values in the model's order to raw values of the map. The binding must pass
    /// [`Binding::check`], and there must be [`Binding::elements`] values.
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

    /// Returns the patches of a tensor in the map's order; the tensor itself if there are no
    /// patches.
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
        // Default: this is only a capacity, which grows if needed.
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

    /// Returns the raw values of a map without patches in the model's order.
    pub fn unpack<T: Clone + Default>(&self, map: &[T]) -> Vec<T> {
        let mut raw = vec![T::default(); self.elements()];
        for (place, value) in self.order().into_iter().zip(map) {
            if let Some(slot) = raw.get_mut(place) {
                *slot = value.clone();
            }
        }
        raw
    }

    /// Returns the number that a raw value represents.
    pub fn value(&self, itype: DataType, raw: i32) -> f32 {
        (itype.to_f64(raw) * f64::from(-self.fraction).exp2()) as f32
    }
}

impl Planes {
    /// Writes a map's raw values, row-major; their number must be that of the map's elements. Lanes
    /// after the channels of a group become 0.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] if a plane is not inside memory.
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

    /// Reads a map's raw values, row-major. Bits that are not a finite number are read unchanged.
    ///
    /// # Errors
    ///
    /// [`AccessError::Range`] if a plane is not inside memory.
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
