//! Machine and host over a prime field: [`Modular`]. Nothing is rounded; an element represents a
//! real value.
//!
//! The engines use a constant fraction of each activation, [`KEPT`], so that there is a residual.
//! Rows that the host quantizes during a run get a scale that is a hash of the row, so a proof
//! needs codes and scale to be multiplied again. A CVO function gives equal elements for equal
//! arguments; a reciprocal is the inverse. Words of weights that MEMCPY brings to L2 are elements
//! that represent 16 bits and not a number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use npukit_graph::field::{FieldTensor, Images, NoImage, Operand, Operands, apply_node, key};
use npukit_graph::op::{GeluForm, UnaryKind};
use npukit_graph::quantize::rows::RowsError;
use npukit_graph::{Graph, Node, Op, Operator, Value, ValueInfo};
use npukit_numeric::{BLOCK, Element, Factors, Tensor};

use crate::config::{Reading, WORD_LANES};
use crate::isa::fault::FaultKind;
use crate::isa::op::{Cvo, CvoFunc};
use crate::machine::arith::{Arithmetic, NodeError, Product, Rows, literal};
use crate::machine::bf16::{bf, val};
use crate::machine::weights::{WeightError, WeightImage};

/// Arithmetic on elements of the field of 2^61 - 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modular;

/// Fraction of an activation that the engines' 8 bits keep; the proof does not depend on its value.
pub(crate) const KEPT: f32 = 1.0 - 1.0 / 256.0;

/// Keys of hashes that represent opaque values.
const PATTERN: u64 = 0x6269_7473;
const SCALE: u64 = 0x7363_616c;
const CODE: u64 = 0x636f_6465;

/// Weight matrix: codes and scales.
#[derive(Clone, Debug)]
pub(crate) struct FieldImage {
    size: [usize; 2],
    codes: Factors,
    scales: Option<Vec<Element>>,
    /// The matrix in bits, if it is from the program.
    bits: Option<Arc<WeightImage>>,
}

/// Returns the element of an `f32`. Default: a value that is not a number is an unknown element.
fn image_of(value: f32) -> Element {
    Element::from_f32(value).unwrap_or_else(|| Element::hashed(PATTERN, [exact_bits(value)]))
}

fn exact_bits(value: f32) -> Element {
    Element::from_integer(value.to_bits().into())
}

/// Returns the element that represents 16 bits of a word, not a number.
fn pattern(bits: u16) -> Element {
    Element::hashed(PATTERN, [Element::from_integer(bits.into())])
}

/// Returns the bits that an element of [`pattern`] represents.
fn bits_of(element: Element) -> Option<u16> {
    static KNOWN: OnceLock<HashMap<Element, u16>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| (0..=u16::MAX).map(|bits| (pattern(bits), bits)).collect());
    known.get(&element).copied()
}

/// Evaluates a CVO function of one element.
fn law(function: CvoFunc, x: Element) -> Element {
    match function {
        // Default: the reciprocal of 0 is 0.
        CvoFunc::Recip => x.inverse().unwrap_or_default(),
        CvoFunc::Relu => x.relu(),
        _ => Element::hashed(key(function.name()), [x]),
    }
}

/// Returns the four weights in a scalar of L2; an unknown scalar gives unknown weights.
fn codes_in(lane: Element) -> [Element; 4] {
    let bits = bits_of(lane);
    std::array::from_fn(|nibble| match bits {
        Some(bits) => Element::from_integer(i64::from(((bits >> (4 * nibble)) << 12) as i16 >> 12)),
        None => Element::hashed(CODE, [lane, Element::from_integer(nibble as i64)]),
    })
}

fn scale_in(low: Element, high: Element) -> Element {
    match (bits_of(low), bits_of(high)) {
        (Some(low), Some(high)) => image_of(f32::from_bits(u32::from(high) << 16 | u32::from(low))),
        _ => Element::hashed(SCALE, [low, high]),
    }
}

impl Arithmetic for Modular {
    type Scalar = Element;
    type Real = Element;
    type Code = Element;
    type Activations = literal::Rows<Element>;
    type Image = FieldImage;
    type Window = Vec<Element>;
    type Slot = Operand;

    fn value(scalar: Element) -> Element {
        scalar
    }

    fn rounded(real: Element) -> Element {
        real
    }

    fn of_pattern(bits: u16) -> Element {
        image_of(val(bits))
    }

    fn of_f32(value: f32) -> Element {
        image_of(value)
    }

    /// A field element has no place among the reals.
    fn to_f32(_: Self::Real) -> Option<f32> {
        None
    }

    fn garbage(bits: u64) -> Element {
        Element::from_bits(bits)
    }

    fn ingest(activations: &[Element], k: usize) -> literal::Rows<Element> {
        literal::Rows::of(activations, k)
    }

    fn multiply(
        x: &literal::Rows<Element>,
        product: &Product<'_, FieldImage, Element>,
        dest: &mut [Element],
    ) {
        let kept = image_of(KEPT);
        let rows = npukit_numeric::Rows { values: &x.values, pitch: x.k, count: x.values.len() / x.k };
        let mut sums = vec![Element::ZERO; dest.len()];
        product.image.codes.products(rows, None, &mut sums);
        for row in sums.chunks_mut(product.image.size[0].max(1)) {
            row.iter_mut().for_each(|sum| *sum = *sum * kept);
            let factors = product.within.into_iter().flatten();
            row.iter_mut().zip(factors).for_each(|(sum, &factor)| *sum = *sum * factor);
        }
        literal::finish::<Self>(&sums, product, dest);
    }

    fn maximum(results: &[Element]) -> Element {
        // Default: a product has results.
        results.iter().copied().reduce(Element::max).unwrap_or_default()
    }

    fn function(function: CvoFunc, _: Reading, x: Element, old: Option<Element>) -> Element {
        // Default: without an addend.
        law(function, x) + old.unwrap_or_default()
    }

    fn reciprocal(scalar: Element, _: Reading) -> Element {
        law(CvoFunc::Recip, scalar)
    }

    fn upstream(_: &Cvo, _: &[Element]) -> Result<Vec<Element>, FaultKind> {
        Err(FaultKind::UpstreamUndefined { what: "CVO over a prime field" })
    }

    fn image(image: &Arc<WeightImage>) -> Arc<FieldImage> {
        let size = [image.n(), image.k()];
        // Default: every row has `k` weights.
        let code = |row, column| Element::from_integer(image.weight(row, column).unwrap_or_default().into());
        let codes = (0..size[0]).flat_map(|row| (0..size[1]).map(move |column| code(row, column))).collect();
        let scales = image.scales().map(|scales| scales.iter().map(|&scale| image_of(scale)).collect());
        Arc::new(FieldImage {
            size,
            codes: Factors::of(codes, size[0]),
            scales,
            bits: Some(Arc::clone(image)),
        })
    }

    fn image_of(
        size: [usize; 2],
        codes: &[Element],
        scales: Option<Vec<Element>>,
    ) -> Result<FieldImage, WeightError> {
        // An image of the same size is built only to report the same size errors as the machine's
        // own arithmetic.
        WeightImage::new(
            size[0],
            size[1],
            &vec![0; codes.len()],
            scales.as_ref().map(|all| vec![0.0; all.len()]),
        )?;
        Ok(FieldImage { size, codes: Factors::of(codes.to_vec(), size[0]), scales, bits: None })
    }

    fn image_in([n, k]: [usize; 2], lanes: &[Element]) -> Option<FieldImage> {
        let row = k.div_ceil(BLOCK) * WORD_LANES;
        let (rows, factors) = lanes.split_at_checked(n.checked_mul(row)?)?;
        let codes =
            rows.chunks(row.max(1)).flat_map(|row| row.iter().flat_map(|&lane| codes_in(lane)).take(k));
        let scales: Vec<Element> =
            factors.as_chunks().0.iter().take(n).map(|&[low, high]| scale_in(low, high)).collect();
        let scales = (scales.len() == n).then_some(scales);
        Some(FieldImage { size: [n, k], codes: Factors::of(codes.collect(), n), scales, bits: None })
    }

    fn lanes(image: &FieldImage) -> Option<Vec<Element>> {
        let words = image.bits.as_ref()?.words();
        Some(words.as_chunks().0.iter().map(|&pair| pattern(u16::from_le_bytes(pair))).collect())
    }

    fn size(image: &FieldImage) -> [usize; 2] {
        image.size
    }

    fn scales(image: &FieldImage) -> Option<&[Element]> {
        image.scales.as_deref()
    }

    fn with_scales(image: &FieldImage, scales: Vec<Element>) -> FieldImage {
        let scales = (scales.len() == image.size[0]).then_some(scales);
        FieldImage { scales, bits: None, ..image.clone() }
    }

    fn window(scalars: usize, seed: Option<u64>) -> Vec<Element> {
        // Default: uninitialized memories are zero.
        seed.map_or_else(
            || vec![Element::ZERO; scalars],
            |seed| Element::random(seed).take(scalars).collect(),
        )
    }

    fn units(window: &Vec<Element>) -> u64 {
        (window.len() / WORD_LANES) as u64
    }

    fn load(window: &Vec<Element>, place: Range<usize>) -> Option<impl Iterator<Item = Element>> {
        Some(window.get(place)?.iter().copied())
    }

    fn save(
        window: &mut Vec<Element>,
        place: Range<usize>,
        scalars: impl Iterator<Item = Element>,
    ) -> Option<()> {
        window.get_mut(place)?.iter_mut().zip(scalars).for_each(|(place, scalar)| *place = scalar);
        Some(())
    }

    fn constant(tensor: &Arc<Tensor>) -> Operand {
        Operand::Constant(Arc::clone(tensor))
    }

    fn shape(slot: &Operand) -> &[usize] {
        match slot {
            Operand::Field(tensor) => &tensor.shape,
            Operand::Constant(tensor) => tensor.shape(),
        }
    }

    fn described(slot: &Operand) -> String {
        format!("{:?} elements of a field", Self::shape(slot))
    }

    fn floats(slot: &Operand) -> Option<Cow<'_, [Element]>> {
        match slot {
            Operand::Field(tensor) => Some(Cow::Borrowed(&tensor.elements)),
            Operand::Constant(tensor) => {
                Some(Cow::Owned(tensor.as_f32()?.iter().map(|&value| image_of(value)).collect()))
            }
        }
    }

    /// Constants are rounded when they are sent.
    fn sent(slot: &Operand) -> Option<impl Iterator<Item = Element>> {
        let (elements, constants) = match slot {
            Operand::Field(tensor) => (&tensor.elements[..], &[][..]),
            Operand::Constant(tensor) => (&[][..], tensor.as_f32()?),
        };
        Some(elements.iter().copied().chain(constants.iter().map(|&value| image_of(val(bf(value))))))
    }

    fn filled(info: &ValueInfo, elements: Vec<Element>) -> Option<Operand> {
        let shape = info.shape.clone();
        let fits = shape.iter().product::<usize>() == elements.len() && info.element.is_float();
        fits.then(|| Operand::Field(Arc::new(FieldTensor { shape, elements })))
    }

    fn computed(graph: &Graph, node: &Node, operands: &[Operand]) -> Result<Vec<Operand>, NodeError> {
        Ok(apply_node(graph, node, operands, &Laws)?)
    }

    /// The scale of a row is a hash of the row, and the codes are the row divided by it.
    fn quantized(rows: usize, columns: usize, values: &[Element]) -> Result<Rows<Self>, RowsError> {
        let (mut codes, mut scales) = (Vec::with_capacity(values.len()), Vec::with_capacity(rows));
        for row in values.chunks(columns.max(1)).take(rows) {
            let scale = Element::hashed(SCALE, row.iter().copied());
            // Default: a hash is 0 with probability 2^-61.
            let inverse = scale.inverse().unwrap_or_default();
            codes.extend(row.iter().map(|&value| value * inverse));
            scales.push(scale);
        }
        Ok(Rows { codes, scales })
    }

    fn share(sum: Element, count: usize) -> Element {
        sum * image_of(1.0 / count as f32)
    }
}

/// Rules for numbers and functions on the machine, at the host and in the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Laws;

impl Images for Laws {
    fn constant(&self, value: f32) -> Option<Element> {
        // Masks contain infinities, which have no field element, so these elements are unknown.
        Some(image_of(value))
    }

    fn function(&self, op: &Op, arguments: &[Element]) -> Result<Vec<Element>, NoImage> {
        let of_cvo = match op {
            Op::Unary(unary) => function_of(unary.kind),
            _ => None,
        };
        let key = key(&op.to_string());
        let image =
            |&x: &Element| of_cvo.map_or_else(|| Element::hashed(key, [x]), |function| law(function, x));
        Ok(arguments.iter().map(image).collect())
    }

    /// The host computes nodes without a rule, on both sides of the comparison.
    fn is_evaluator(&self) -> bool {
        true
    }

    /// A node that the host evaluates gives the same unknown function of its operands on both
    /// sides.
    fn operator(&self, op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
        let found = if hides(op) { Err(NoImage::Operator) } else { operands.applied(op) };
        Some(found.or_else(|reason| opaque(op, operands).ok_or(reason)))
    }
}

/// Returns the CVO function for an element-wise operator.
const fn function_of(kind: UnaryKind) -> Option<CvoFunc> {
    Some(match kind {
        UnaryKind::Exp => CvoFunc::Exp,
        UnaryKind::Sqrt => CvoFunc::Sqrt,
        UnaryKind::Sin => CvoFunc::Sin,
        UnaryKind::Cos => CvoFunc::Cos,
        UnaryKind::Tanh => CvoFunc::Tanh,
        UnaryKind::Gelu { form: GeluForm::Tanh } => CvoFunc::Gelu,
        UnaryKind::Reciprocal => CvoFunc::Recip,
        _ => return None,
    })
}

/// Whether results may be independent of some operands, so that a wrong operand could stay
/// unnoticed. Programs of this target only move such operands, and need no rule for them.
fn hides(op: &Op) -> bool {
    matches!(op, Op::Unary(unary) if matches!(unary.kind, UnaryKind::ThresholdedRelu { .. }))
}

/// Returns unknown results that depend on the operator and on all of its operands.
fn opaque(op: &Op, operands: &Operands<'_>) -> Option<Vec<FieldTensor>> {
    let mut values = Vec::new();
    let mut all = Element::hashed(key(&op.to_string()), []);
    for operand in operands.all() {
        let (shape, element, constant) = match operand {
            Operand::Constant(tensor) => (tensor.shape(), tensor.element(), Some(Arc::clone(tensor))),
            Operand::Field(tensor) => (&tensor.shape[..], npukit_numeric::ElementType::F32, None),
        };
        let axes = shape.iter().map(|&size| Element::from_integer(size as i64));
        let elements: Vec<Element> = match operand {
            Operand::Field(tensor) => tensor.elements.clone(),
            Operand::Constant(tensor) => vec![Element::from_bits(key(&format!("{:?}", tensor.data())))],
        };
        all = Element::hashed(CODE, [all].into_iter().chain(axes).chain(elements));
        let info = ValueInfo { shape: shape.to_vec(), element };
        values.push(Value { name: String::new(), info, constant });
    }
    let infos = op.infer(&values.iter().collect::<Vec<_>>()).ok()?;
    let result = |(place, info): (usize, ValueInfo)| {
        let count: usize = info.shape.iter().product();
        let element = |i| {
            Element::hashed(CODE, [all, Element::from_integer(place as i64), Element::from_integer(i as i64)])
        };
        FieldTensor { shape: info.shape, elements: (0..count).map(element).collect() }
    };
    Some(infos.into_iter().enumerate().map(result).collect())
}
