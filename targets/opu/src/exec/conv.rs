//! `conv`, `conv.bias`, `conv.acc`: one tap of a convolution over one group of input channels.

use crate::config::Types;
use crate::fault::FaultKind;
use crate::op::{Addend, Shape};
use crate::state::{Array, Elements, Pair, Registers, State};

use super::{Arithmetic, Numerics, fixed, literal};

/// What a tap reads, what it is multiplied by, and what its products are added to.
pub(super) struct Tap<'a> {
    /// Input feature maps.
    pub ifm: &'a Array,
    /// Position in `ifm` of the first channel of pixel (0, 0).
    pub start: usize,
    /// Elements of `ifm` from row to row of results.
    pub row: usize,
    /// Elements of `ifm` from column to column of results.
    pub column: usize,
    /// The slice, `[ofm_c, ifm_c]`.
    pub ker: &'a Array,
    /// Position in `ker` of the slice.
    pub slice: usize,
    /// Input channels.
    pub channels: usize,
    /// Shape of the results.
    pub shape: Shape,
    /// Exponent of the sums of products.
    pub shift: i32,
    /// What is added.
    pub addend: TapAddend<'a>,
    /// Types of all buffers.
    pub types: &'a Types,
}

/// What the products of a tap are added to.
pub(super) enum TapAddend<'a> {
    /// Nothing.
    Zero,
    /// The bias of the channel, scaled by two to the exponent.
    Bias(&'a Array, i32),
    /// The results' old values.
    Ofm,
}

/// `conv`: a tap of the kernel, over all pixels of the result.
///
/// Source: specification, sections 4.3 and 4.4.
pub(super) fn conv(
    state: &mut State,
    Numerics { types, arithmetic }: Numerics<'_>,
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
        Addend::Bias => TapAddend::Bias(state.bias.get()?, shifts.bias),
        Addend::Ofm => {
            state.ofm.get()?;
            TapAddend::Ofm
        }
    };
    if n >= ker_n {
        return Err(FaultKind::KerIndex { n, ker_n });
    }
    in_bounds(registers, [h, w], stride, shape)?;
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
    // What the buffer holds has the right size: another shape makes it invalid.
    let old = state.ofm.take().map(|array| array.elements);
    let mut sums = old.unwrap_or_else(|| Elements::zeros(types.otype, shape.elements()));
    compute(&tap, arithmetic, &mut sums);
    state.ofm.fill(Array { data_type: types.otype, shape: dims, elements: sums });
    Ok(())
}

fn in_bounds(registers: &Registers, [h, w]: [u32; 2], stride: Pair, shape: Shape) -> Result<(), FaultKind> {
    let size = registers.ifm_shape()?;
    for (axis, first, steps, stride, size) in
        [("row", h, shape.h, stride.h, size.h), ("column", w, shape.w, stride.w, size.w)]
    {
        let last = u64::from(first) + u64::from(steps - 1) * u64::from(stride);
        if last >= u64::from(size) {
            return Err(FaultKind::ConvBounds { axis, first, steps, stride, last, size });
        }
    }
    Ok(())
}

fn compute(tap: &Tap<'_>, arithmetic: Arithmetic, sums: &mut Elements) {
    let fast = arithmetic == Arithmetic::Fast && (fixed::narrow(tap, sums) || fixed::wide(tap, sums));
    if !fast {
        literal::conv(tap, sums);
    }
}
