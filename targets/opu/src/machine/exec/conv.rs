//! `conv`, `conv.bias`, `conv.acc`: one tap of a convolution over one group of input channels.

use crate::config::Validity;
use crate::isa::fault::{Axis, Buffer, FaultKind, Invalid};
use crate::isa::op::{Addend, Pair, Shape};
use crate::machine::array::{Array, BufferContent};
use crate::machine::state::State;

use super::Numerics;
use crate::machine::values::{Arithmetic, Tap, TapAddend, Values};

/// Executes `conv`: a tap of the kernel, over all pixels of the result.
///
/// Source: specification, sections 4.3 and 4.4.
pub(super) fn conv<V: Values>(
    state: &mut State<V>,
    Numerics { types, arithmetic, validity }: Numerics<'_>,
    addend: Addend,
    [h, w, n]: [u32; 3],
) -> Result<(), FaultKind> {
    let registers = &state.registers;
    let (ifm_shape, shape) = (registers.ifm_shape()?, registers.ofm_shape()?);
    let ker_n = registers.slices()?;
    let (stride, shifts) = (registers.stride()?, registers.shift()?);
    let (ifm, ker) = (state.ifm.get()?, state.ker.get()?);
    let tap_addend = match addend {
        Addend::Zero => TapAddend::Zero,
        Addend::Bias => TapAddend::Bias(biases(&state.bias, shape)?, shifts.bias),
        Addend::Ofm => state.ofm.get().map(|_| TapAddend::Ofm)?,
    };
    if n >= ker_n {
        return Err(FaultKind::KerIndex { n, ker_n });
    }
    let bounds = Bounds { first: [h, w], stride, results: shape, size: ifm_shape };
    if !validity.is_corrected() {
        bounds.as_written(addend)?;
    }
    bounds.all_read(validity)?;
    let dims = vec![shape.h as usize, shape.w as usize, shape.c as usize];
    if arithmetic == Arithmetic::Absent {
        state.ofm.fill(Array::without_elements(types.otype, dims));
        return Ok(());
    }
    let (channels, width) = (ifm_shape.c as usize, ifm_shape.w as usize);
    let tap = Tap {
        ifm,
        start: (h as usize * width + w as usize) * channels,
        row: stride.h as usize * width * channels,
        column: stride.w as usize * channels,
        ker,
        slice: n as usize * shape.c as usize * channels,
        channels,
        shape,
        shift: shifts.ifm,
        addend: tap_addend,
        types,
    };
    // Setting another shape invalidates the buffer, so contents that exist have the right size.
    let old = state.ofm.take().map(|array| array.elements);
    let mut sums = old.unwrap_or_else(|| V::zeros(types.otype, shape.elements()));
    V::conv(&tap, arithmetic, &mut sums, &mut state.ledger);
    state.ofm.fill(Array { data_type: types.otype, shape: dims, elements: sums });
    Ok(())
}

/// Returns the biases. There may be fewer than channels if the draft's rule keeps the biases of
/// another shape.
fn biases<V>(held: &BufferContent<V>, shape: Shape) -> Result<&Array<V>, FaultKind> {
    let bias = held.get()?;
    // Default: a buffer with contents has a shape.
    let held = bias.shape.first().copied().unwrap_or(0);
    if held < shape.c as usize {
        let invalid = Invalid::Short { held: held as u32, needed: shape.c };
        return Err(FaultKind::BufferInvalid { buffer: Buffer::Bias, invalid });
    }
    Ok(bias)
}

/// Pixels of the ifm buffer that a tap reads.
struct Bounds {
    /// Row and column of the first pixel.
    first: [u32; 2],
    stride: Pair,
    /// Shape of the results.
    results: Shape,
    /// Shape of the buffer.
    size: Shape,
}

impl Bounds {
    /// Checks the draft's condition as printed: `h + ofm_h * (stride_h - 1) < ifm_h`, and likewise
    /// for columns. The condition of `conv.bias` also has `h` for columns, and `conv.acc` has none.
    fn as_written(&self, addend: Addend) -> Result<(), FaultKind> {
        let &Self { first: [h, w], stride, results, size } = self;
        let (instruction, column) = match addend {
            Addend::Zero => ("conv", w),
            Addend::Bias => ("conv.bias", h),
            Addend::Ofm => return Ok(()),
        };
        for (axis, first, steps, stride, size) in
            [(Axis::Row, h, results.h, stride.h, size.h), (Axis::Column, column, results.w, stride.w, size.w)]
        {
            if first + steps * (stride - 1) >= size {
                return Err(FaultKind::ConvDraft { instruction, axis, first, steps, stride, size });
            }
        }
        Ok(())
    }

    /// Checks that the last row and column that are read exist.
    fn all_read(&self, validity: Validity) -> Result<(), FaultKind> {
        let &Self { first: [h, w], stride, results, size } = self;
        for (axis, first, steps, stride, size) in
            [(Axis::Row, h, results.h, stride.h, size.h), (Axis::Column, w, results.w, stride.w, size.w)]
        {
            let last = u64::from(first) + u64::from(steps - 1) * u64::from(stride);
            if last >= u64::from(size) {
                return Err(FaultKind::ConvBounds { axis, first, steps, stride, last, size, validity });
            }
        }
        Ok(())
    }
}
