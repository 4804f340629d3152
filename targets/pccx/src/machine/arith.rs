//! Number formats of machine and host: [`Arithmetic`]; [`Bits`] is the machine's own, and
//! [`Literal`] its reference.
//!
//! Instructions and host steps are defined independently of the arithmetic, in
//! [`crate::machine::exec`] and [`crate::program::runtime`]; this trait provides their operations
//! on numbers. Another arithmetic is [`crate::machine::arith::field`]: elements of a prime field.

mod fast;
pub(crate) mod field;
pub(crate) mod float;
pub(crate) mod literal;

use std::borrow::Cow;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, Mul, Range, Sub};
use std::sync::Arc;

use npukit_graph::quantize::rows::{Int4Rows, RowsError};
use npukit_graph::{Graph, Node, Operator, ValueInfo};
use npukit_numeric::{Bf16, BlockRow, BlockWeights, Path, Tensor, block_product_on};

use crate::config::{Reading, WORD_BYTES};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cvo, CvoFunc};
use crate::machine::bf16::{NAN, bf, bf_of_double, val};
use crate::machine::exec::quantize;
use crate::machine::functions::evaluate;
use crate::machine::upstream::sfu;
use crate::machine::weights::{WeightError, WeightImage};

/// Reason why the host cannot compute a node.
pub type NodeError = Box<dyn std::error::Error + Send + Sync>;

/// Weights that the host has quantized: codes row by row, and a scale per row.
pub struct Rows<A: Arithmetic> {
    /// Code of each value, row by row.
    pub codes: Vec<A::Code>,
    /// Scale of each row.
    pub scales: Vec<A::Real>,
}

/// Weights and options of a product.
pub struct Product<'a, I, R> {
    /// Weights.
    pub image: &'a I,
    /// Factor of each weight row by which the sums of blocks are multiplied.
    pub within: Option<&'a [R]>,
    /// Factor of each weight row by which the sum of the row is multiplied.
    pub after: Option<&'a [R]>,
    /// Whether results are added to the old content of the destination.
    pub accm: bool,
}

/// Operation of CVO on a vector.
pub struct Operation<S> {
    /// Function.
    pub function: CvoFunc,
    /// Document that takes precedence.
    pub reading: Reading,
    /// Number that is subtracted from each input.
    pub less: Option<S>,
    /// Factor of SCALE.
    pub factor: S,
    /// Whether SCALE divides by its factor.
    pub recip_scale: bool,
    /// Whether results are added to the old content of the destination.
    pub accm: bool,
}

/// Numbers, and the operations of engines and host on them.
pub trait Arithmetic: Sized + Clone + Debug + 'static {
    /// Element of L2 and content of `e_max`; a word has eight.
    type Scalar: Copy + Default + PartialEq + Debug + Send + Sync + 'static;
    /// Number in sums and in computations of the host.
    type Real: Copy
        + Default
        + Add<Output = Self::Real>
        + Sub<Output = Self::Real>
        + Mul<Output = Self::Real>
        + Sum;
    /// Integer code of a weight, before scaling.
    type Code: Copy;
    /// Rows of activations in an engine.
    type Activations;
    /// Weight matrix with optional scales.
    type Image: Clone + Debug;
    /// Content of a host window.
    type Window: Clone + Debug;
    /// Value of a slot at the host.
    type Slot: Clone;

    /// Converts a scalar to a number.
    fn value(scalar: Self::Scalar) -> Self::Real;
    /// Rounds a number to the nearest scalar.
    fn rounded(real: Self::Real) -> Self::Scalar;
    /// Converts a BF16 pattern to a number.
    fn of_pattern(bits: u16) -> Self::Real;
    /// Converts an `f32` to a number.
    fn of_f32(value: f32) -> Self::Real;
    /// Converts a number to the nearest `f32`; `None` if the arithmetic has no such conversion.
    fn to_f32(value: Self::Real) -> Option<f32>;
    /// Converts 64 random bits to an uninitialized scalar.
    fn garbage(bits: u64) -> Self::Scalar;

    /// Converts rows of `k` activations for an engine.
    fn ingest(activations: &[Self::Scalar], k: usize) -> Self::Activations;
    /// Multiplies activations by weights. `dest` has a result for each row of activations and,
    /// within, of weights.
    fn multiply(
        activations: &Self::Activations,
        product: &Product<'_, Self::Image, Self::Real>,
        dest: &mut [Self::Scalar],
    );
    /// Returns the largest of some results; independent of their order.
    fn maximum(results: &[Self::Scalar]) -> Self::Scalar;
    /// Executes CVO on a vector; `dest` has one element for a sum, otherwise one per input.
    fn apply(operation: &Operation<Self::Scalar>, inputs: &[Self::Scalar], dest: &mut [Self::Scalar]) {
        literal::apply::<Self>(operation, inputs, dest);
    }
    /// Evaluates a CVO function of one element, and adds `old` if given.
    fn function(
        function: CvoFunc,
        reading: Reading,
        argument: Self::Real,
        old: Option<Self::Scalar>,
    ) -> Self::Scalar;
    /// Returns the factor with which SCALE divides by a scalar.
    fn reciprocal(scalar: Self::Real, reading: Reading) -> Self::Real;
    /// Evaluates a CVO function like the published circuits.
    ///
    /// # Errors
    /// The circuits leave the operation undefined.
    fn upstream(cvo: &Cvo, inputs: &[Self::Scalar]) -> Result<Vec<Self::Scalar>, FaultKind>;

    /// Converts a matrix of the program.
    fn image(image: &Arc<WeightImage>) -> Arc<Self::Image>;
    /// Builds a matrix from codes and scales of the host.
    ///
    /// # Errors
    /// The matrix has an unsupported size.
    fn image_of(
        size: [usize; 2],
        codes: &[Self::Code],
        scales: Option<Vec<Self::Real>>,
    ) -> Result<Self::Image, WeightError>;
    /// Reads a matrix from scalars of L2, as written by [`Self::lanes`].
    fn image_in(size: [usize; 2], lanes: &[Self::Scalar]) -> Option<Self::Image>;
    /// Packs rows and scales into L2 words; `None` if the matrix has no packed form.
    fn lanes(image: &Self::Image) -> Option<Vec<Self::Scalar>>;
    /// Returns the numbers of rows and columns.
    fn size(image: &Self::Image) -> [usize; 2];
    /// Returns the scale of each row.
    fn scales(image: &Self::Image) -> Option<&[Self::Real]>;
    /// Returns the matrix with other scales.
    fn with_scales(image: &Self::Image, scales: Vec<Self::Real>) -> Self::Image;

    /// Creates a window of `scalars` scalars; `seed` determines its uninitialized content.
    fn window(scalars: usize, seed: Option<u64>) -> Self::Window;
    /// Returns the size of a window in units of 16 bytes.
    fn units(window: &Self::Window) -> u64;
    /// Copies scalars of a window, until either ends; `None` if the range exceeds the window.
    fn copy_in(window: &Self::Window, place: Range<usize>, to: &mut [Self::Scalar]) -> Option<()> {
        to.iter_mut().zip(Self::load(window, place)?).for_each(|(to, scalar)| *to = scalar);
        Some(())
    }
    /// Copies scalars to a range of a window, until either ends; `None` if the range exceeds the
    /// window.
    fn copy_out(window: &mut Self::Window, place: Range<usize>, from: &[Self::Scalar]) -> Option<()> {
        Self::save(window, place, from.iter().copied())
    }
    /// Reads scalars of a window; `None` if the range exceeds the window.
    fn load(window: &Self::Window, place: Range<usize>) -> Option<impl Iterator<Item = Self::Scalar>>;
    /// Writes scalars to a range of a window, until either ends; `None` if the range exceeds the
    /// window.
    fn save(
        window: &mut Self::Window,
        place: Range<usize>,
        scalars: impl Iterator<Item = Self::Scalar>,
    ) -> Option<()>;

    /// Converts a constant of the host.
    fn constant(tensor: &Arc<Tensor>) -> Self::Slot;
    /// Returns the shape of a value.
    fn shape(slot: &Self::Slot) -> &[usize];
    /// Describes a value for messages.
    fn described(slot: &Self::Slot) -> String;
    /// Returns the numbers of a value; `None` if its values are not floats.
    fn floats(slot: &Self::Slot) -> Option<Cow<'_, [Self::Real]>>;
    /// Returns the numbers of a value, moved if nothing else refers to them.
    ///
    /// # Errors
    /// The value itself, if its values are not floats.
    fn into_floats(slot: Self::Slot) -> Result<Vec<Self::Real>, Self::Slot> {
        match Self::floats(&slot).map(Cow::into_owned) {
            Some(values) => Ok(values),
            None => Err(slot),
        }
    }
    /// Returns the scalars that are written to a window for a value; `None` if its values are not
    /// floats.
    fn sent(slot: &Self::Slot) -> Option<impl Iterator<Item = Self::Scalar>>;
    /// Creates a value from numbers; `None` if their count does not match.
    fn filled(info: &ValueInfo, values: Vec<Self::Real>) -> Option<Self::Slot>;
    /// Computes a node of the host's graph.
    ///
    /// # Errors
    /// The node does not support its operands.
    fn computed(graph: &Graph, node: &Node, operands: &[Self::Slot]) -> Result<Vec<Self::Slot>, NodeError>;
    /// Quantizes `rows` rows of `columns` values to 4 bits.
    ///
    /// # Errors
    /// A value is not a finite number.
    fn quantized(rows: usize, columns: usize, values: &[Self::Real]) -> Result<Rows<Self>, RowsError>;
    /// Returns the sum divided by `count`.
    fn share(sum: Self::Real, count: usize) -> Self::Real;
}

/// The machine's own numbers: BF16 patterns, bytes at the host, `f32` for intermediate results.
/// `LITERAL` are computed one after the other, others with vector code and in several threads.
#[derive(Clone, Copy, Debug)]
pub struct Patterns<const LITERAL: bool>;

/// The machine's own numbers, in fast code.
pub type Bits = Patterns<false>;
/// The machine's own numbers, in literal code: the reference for [`Bits`].
pub type Literal = Patterns<true>;

impl<const LITERAL: bool> Arithmetic for Patterns<LITERAL> {
    type Scalar = u16;
    type Real = f32;
    type Code = i8;
    type Activations = Vec<BlockRow>;
    type Image = WeightImage;
    type Window = Vec<u8>;
    type Slot = Arc<Tensor>;

    fn value(scalar: u16) -> f32 {
        val(scalar)
    }

    fn rounded(real: f32) -> u16 {
        bf(real)
    }

    fn of_pattern(bits: u16) -> f32 {
        val(bits)
    }

    fn of_f32(value: f32) -> f32 {
        value
    }

    fn to_f32(value: f32) -> Option<f32> {
        Some(value)
    }

    fn garbage(bits: u64) -> u16 {
        bits as u16
    }

    fn ingest(activations: &[u16], k: usize) -> Vec<BlockRow> {
        if !LITERAL {
            return fast::ingest(activations, k);
        }
        let row = |row| {
            let quantized = quantize(row);
            let scales = quantized.scales();
            // A row that contains infinities or NaNs gives only NaN.
            let scales = if quantized.is_special() { vec![f32::NAN; scales.len()] } else { scales };
            BlockRow::new(&quantized.values, &scales)
        };
        activations.chunks_exact(k).map(row).collect()
    }

    fn multiply(x: &Vec<BlockRow>, product: &Product<'_, WeightImage, f32>, dest: &mut [u16]) {
        if !LITERAL {
            return fast::multiply(x, product, dest);
        }
        let &Product { image, within: factors, .. } = product;
        let mut sums = vec![0.0; dest.len()];
        let weights = BlockWeights { rows: image.rows(), count: image.n(), factors };
        block_product_on(Path::Literal, weights, x, &mut sums);
        literal::finish::<Self>(&sums, product, dest);
    }

    /// NaNs are ignored; among equal numbers the first is returned.
    fn maximum(results: &[u16]) -> u16 {
        let numbers = results.iter().copied().filter(|&bits| !val(bits).is_nan());
        let larger = |best: u16, bits: u16| if val(bits) > val(best) { bits } else { best };
        let largest = if LITERAL { numbers.reduce(larger) } else { Bf16::fastest().maximum(results) };
        // Default: NaN, like the machine, if there are only NaNs.
        largest.unwrap_or(NAN)
    }

    fn apply(operation: &Operation<u16>, inputs: &[u16], dest: &mut [u16]) {
        if LITERAL {
            literal::apply::<Self>(operation, inputs, dest);
        } else {
            fast::apply(operation, inputs, dest);
        }
    }

    fn function(function: CvoFunc, reading: Reading, x: f32, old: Option<u16>) -> u16 {
        let y = match (function, reading) {
            (CvoFunc::Recip, Reading::Seed) => 1.0 / f64::from(x),
            _ => evaluate(function, x.into()),
        };
        old.map_or_else(|| bf_of_double(y), |old| bf(val(old) + y as f32))
    }

    /// According to the documents, the reciprocal of 0 is 0.
    fn reciprocal(scalar: f32, reading: Reading) -> f32 {
        if scalar == 0.0 && reading == Reading::Documents { 0.0 } else { 1.0 / scalar }
    }

    fn upstream(cvo: &Cvo, inputs: &[u16]) -> Result<Vec<u16>, FaultKind> {
        let undefined = |what| Err(FaultKind::UpstreamUndefined { what });
        let each = |function: fn(u16) -> u16| Ok(inputs.iter().map(|&bits| function(bits)).collect());
        match cvo.cvo_func {
            CvoFunc::Exp => each(sfu::exp),
            CvoFunc::Sqrt => each(sfu::sqrt),
            CvoFunc::Recip => each(sfu::recip),
            CvoFunc::Sin => each(|angle| sfu::sin_cos(angle).0),
            CvoFunc::Cos => each(|angle| sfu::sin_cos(angle).1),
            CvoFunc::ReduceSum => Ok(vec![sfu::reduce_sum(inputs)]),
            CvoFunc::Scale => Ok(match inputs.split_first() {
                Some((&scalar, vector)) => sfu::scale(scalar, vector, cvo.flags.recip_scale),
                None => Vec::new(),
            }),
            CvoFunc::Gelu => undefined("GELU, whose delay line takes another element's input"),
            CvoFunc::Mul | CvoFunc::Relu | CvoFunc::Tanh => undefined("extensions of CVO"),
        }
    }

    fn image(image: &Arc<WeightImage>) -> Arc<WeightImage> {
        Arc::clone(image)
    }

    fn image_of(
        [n, k]: [usize; 2],
        codes: &[i8],
        scales: Option<Vec<f32>>,
    ) -> Result<WeightImage, WeightError> {
        WeightImage::new(n, k, codes, scales)
    }

    fn image_in([n, k]: [usize; 2], lanes: &[u16]) -> Option<WeightImage> {
        let mut rows: Vec<u8> = lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect();
        let size = WeightImage::size_of(n, k) as usize;
        if rows.len() < size {
            return None;
        }
        let factors = rows.split_off(size);
        let factors = factors.as_chunks().0.iter().take(n).map(|&bytes| f32::from_le_bytes(bytes));
        let image = WeightImage::with_any_padding(n, k, rows, None).ok()?;
        Some(image.with_scales(factors.collect()))
    }

    fn lanes(image: &WeightImage) -> Option<Vec<u16>> {
        Some(image.words().as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair)).collect())
    }

    fn size(image: &WeightImage) -> [usize; 2] {
        [image.n(), image.k()]
    }

    fn scales(image: &WeightImage) -> Option<&[f32]> {
        image.scales()
    }

    fn with_scales(image: &WeightImage, scales: Vec<f32>) -> WeightImage {
        image.clone().with_scales(scales)
    }

    fn window(scalars: usize, seed: Option<u64>) -> Vec<u8> {
        let mut content = vec![0; 2 * scalars];
        if let Some(seed) = seed {
            let mut next = npukit_target::sim::garbage(seed);
            content.fill_with(|| next() as u8);
        }
        content
    }

    fn units(window: &Vec<u8>) -> u64 {
        (window.len() / WORD_BYTES) as u64
    }

    fn copy_in(window: &Vec<u8>, place: Range<usize>, to: &mut [u16]) -> Option<()> {
        Bf16::read(window.get(2 * place.start..2 * place.end)?, to);
        Some(())
    }

    fn copy_out(window: &mut Vec<u8>, place: Range<usize>, from: &[u16]) -> Option<()> {
        Bf16::write(from, window.get_mut(2 * place.start..2 * place.end)?);
        Some(())
    }

    fn load(window: &Vec<u8>, place: Range<usize>) -> Option<impl Iterator<Item = u16>> {
        let bytes = window.get(2 * place.start..2 * place.end)?;
        Some(bytes.as_chunks().0.iter().map(|&pair| u16::from_le_bytes(pair)))
    }

    fn save(window: &mut Vec<u8>, place: Range<usize>, scalars: impl Iterator<Item = u16>) -> Option<()> {
        let bytes = window.get_mut(2 * place.start..2 * place.end)?;
        for (pair, scalar) in bytes.as_chunks_mut().0.iter_mut().zip(scalars) {
            *pair = scalar.to_le_bytes();
        }
        Some(())
    }

    fn constant(tensor: &Arc<Tensor>) -> Arc<Tensor> {
        Arc::clone(tensor)
    }

    fn shape(slot: &Arc<Tensor>) -> &[usize] {
        slot.shape()
    }

    fn described(slot: &Arc<Tensor>) -> String {
        format!("{:?} {}", slot.shape(), slot.element().name())
    }

    fn floats(slot: &Arc<Tensor>) -> Option<Cow<'_, [f32]>> {
        slot.as_f32().map(Cow::Borrowed)
    }

    fn into_floats(slot: Arc<Tensor>) -> Result<Vec<f32>, Arc<Tensor>> {
        Arc::unwrap_or_clone(slot).into_f32().map_err(Arc::new)
    }

    fn sent(slot: &Arc<Tensor>) -> Option<impl Iterator<Item = u16>> {
        Some(slot.as_f32()?.iter().map(|&value| bf(value)))
    }

    fn filled(info: &ValueInfo, values: Vec<f32>) -> Option<Arc<Tensor>> {
        let tensor = Tensor::from_f32(info.shape.clone(), values).ok()?;
        tensor.with_element(info.element).ok().map(Arc::new)
    }

    fn computed(_: &Graph, node: &Node, operands: &[Arc<Tensor>]) -> Result<Vec<Arc<Tensor>>, NodeError> {
        let operands: Vec<&Tensor> = operands.iter().map(Arc::as_ref).collect();
        Ok(node.op.eval(&operands)?.into_iter().map(Arc::new).collect())
    }

    fn quantized(rows: usize, columns: usize, values: &[f32]) -> Result<Rows<Self>, RowsError> {
        let rows = Int4Rows::new(rows, columns, values)?;
        Ok(Rows { codes: rows.codes().to_vec(), scales: rows.scales().to_vec() })
    }

    fn share(sum: f32, count: usize) -> f32 {
        sum / count as f32
    }
}
