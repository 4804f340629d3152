//! Extreme attributes and shapes: errors, never panics.

use npukit_graph::op::{
    ArgMax, AveragePool, BitCast, Concat, Conv, ConvTranspose, Coordinates, Crop, Cubic, Cumulative, Det,
    Gather, GatherElements, GatherNd, Gemm, GridPlaces, GridSample, GroupNormalization,
    InstanceNormalization, LayerNormalization, LogSoftmax, LpNormalization, Lrn, MatMul, MaxPool,
    MaxPoolIndices, NearestMode, Norm, Outside, PRelu, Pad, PadMode, Pow, Reduce, ReduceKind, Reshape,
    Resize, ResizeMode, RmsNormalization, RoiAlign, RoiMode, RotaryEmbedding, SampleMode, ScatterElements,
    ScatterKind, ScatterNd, Slice, SliceRange, Softmax, Split, Tile, TopK, Transpose, Trilu, Where, Window,
};
use npukit_graph::{Op, Operator, Value, ValueInfo};
use npukit_numeric::{ElementType, Tensor};
use proptest::prelude::*;

use crate::support::{i64s, noise};

/// Small sizes, and some that overflow when added or multiplied.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 0..5usize,
        1 => prop::sample::select(vec![1usize << 31, (1 << 31) + 1, 1 << 40, usize::MAX / 2, usize::MAX]),
    ]
}

fn signed() -> impl Strategy<Value = isize> {
    prop_oneof![8 => -4..5isize, 1 => prop::sample::select(vec![isize::MIN, isize::MAX, 1 << 33])]
}

fn window() -> impl Strategy<Value = Window> {
    ([size(), size()], [size(), size()], [size(), size()], [size(), size(), size(), size()], any::<bool>())
        .prop_map(|(kernel, strides, dilations, pads, ceil_mode)| Window {
            kernel,
            strides,
            dilations,
            pads,
            ceil_mode,
        })
}

/// Operators that take indices as their second operand.
fn indexed() -> impl Strategy<Value = Op> {
    let kinds = [ScatterKind::Replace, ScatterKind::Add, ScatterKind::Max];
    let kind = || prop::sample::select(kinds.to_vec());
    prop_oneof![
        size().prop_map(|axis| GatherElements { axis }.into()),
        size().prop_map(|batch_dims| GatherNd { batch_dims }.into()),
        (size(), kind()).prop_map(|(axis, kind)| ScatterElements { axis, kind }.into()),
        kind().prop_map(|kind| ScatterNd { kind }.into()),
    ]
}

fn sampled() -> impl Strategy<Value = Op> {
    let modes = [SampleMode::Nearest, SampleMode::Linear, SampleMode::Cubic];
    let places = [GridPlaces::Edges, GridPlaces::Centers, GridPlaces::Elements];
    let outside = [Outside::Zeros, Outside::Border, Outside::Reflection];
    let grid = (
        prop::sample::select(modes.to_vec()),
        prop::sample::select(outside.to_vec()),
        prop::sample::select(places.to_vec()),
    );
    let region = ([size(), size()], size(), any::<f32>(), any::<bool>());
    prop_oneof![
        grid.prop_map(|(mode, outside, places)| GridSample { mode, outside, places }.into()),
        region.prop_map(|(size, sampling_ratio, spatial_scale, half_pixel)| {
            RoiAlign { size, sampling_ratio, spatial_scale, half_pixel, mode: RoiMode::Average }.into()
        }),
        (size(), size(), any::<bool>()).prop_map(|(axis, k, largest)| TopK { axis, k, largest }.into()),
        (size(), any::<bool>()).prop_map(|(axis, reverse)| {
            Cumulative { axis, product: false, exclusive: true, reverse }.into()
        }),
        Just(Det.into()),
        Just(BitCast { to: ElementType::I32 }.into()),
    ]
}

fn any_op() -> impl Strategy<Value = Op> {
    let range = (size(), size(), size(), signed());
    let range = range.prop_map(|(axis, start, length, step)| SliceRange { axis, start, length, step });
    let modes = [PadMode::Edge, PadMode::Reflect, PadMode::Symmetric, PadMode::Wrap, PadMode::Constant(1.0)];
    let mode = prop::sample::select(modes.to_vec());
    let sizes = || prop::collection::vec(size(), 0..5);
    let modes = [
        ResizeMode::Linear,
        ResizeMode::LinearAntialiased,
        ResizeMode::Cubic(Cubic { slope: -0.75, antialias: true, exclude_outside: true }),
        ResizeMode::Cubic(Cubic { slope: -0.75, antialias: false, exclude_outside: false }),
        ResizeMode::Nearest(NearestMode::RoundPreferFloor),
    ];
    let resize_mode = prop::sample::select(modes.to_vec());
    let coordinates = any::<([[f32; 2]; 2], f32)>().prop_flat_map(|(roi, extrapolation)| {
        let crop = Coordinates::TfCropAndResize(Crop { roi, extrapolation });
        prop::sample::select(vec![Coordinates::AlignCorners, Coordinates::HalfPixelSymmetric, crop])
    });
    let resize = ([size(), size()], any::<[f32; 2]>(), resize_mode, coordinates);
    prop_oneof![
        window().prop_map(|window| MaxPool { window }.into()),
        (window(), any::<bool>())
            .prop_map(|(window, column_major)| MaxPoolIndices { window, column_major }.into()),
        (window(), any::<bool>()).prop_map(|(window, count_include_pad)| AveragePool {
            window,
            count_include_pad
        }
        .into()),
        (window(), size()).prop_map(|(window, group)| {
            let Window { strides, dilations, pads, .. } = window;
            Conv { strides, dilations, pads, group }.into()
        }),
        (window(), size(), [size(), size()]).prop_map(|(window, group, output_padding)| {
            let Window { strides, dilations, pads, .. } = window;
            ConvTranspose { strides, dilations, pads, output_padding, group }.into()
        }),
        size().prop_map(|axis| Concat { axis }.into()),
        size().prop_map(|axis| Gather { axis }.into()),
        indexed(),
        sampled(),
        (any::<bool>(), any::<bool>()).prop_map(|(trans_a, trans_b)| Gemm {
            alpha: 1.0,
            beta: 1.0,
            trans_a,
            trans_b
        }
        .into()),
        Just(MatMul.into()),
        (prop::collection::vec([signed(), signed()], 0..5), mode)
            .prop_map(|(pads, mode)| Pad { pads, mode }.into()),
        sizes().prop_map(|shape| Reshape { shape }.into()),
        sizes().prop_map(|repeats| Tile { repeats }.into()),
        sizes().prop_map(|perm| Transpose { perm }.into()),
        (size(), sizes()).prop_map(|(axis, sizes)| Split { axis, sizes }.into()),
        prop::collection::vec(range, 0..4).prop_map(|ranges| Slice { ranges }.into()),
        (size(), size()).prop_map(|(axis, axis_end)| Softmax { axis, axis_end }.into()),
        (sizes(), any::<bool>()).prop_map(|(axes, keep_dims)| Reduce {
            kind: ReduceKind::Max,
            axes,
            keep_dims
        }
        .into()),
        (size(), any::<bool>()).prop_map(|(axis, keep_dims)| {
            ArgMax { smallest: false, axis, keep_dims, select_last: false }.into()
        }),
        size().prop_map(|groups| GroupNormalization { groups, epsilon: 0.0 }.into()),
        Just(InstanceNormalization { epsilon: 0.0 }.into()),
        size().prop_map(|axis| LayerNormalization { axis, epsilon: 0.0 }.into()),
        size().prop_map(|axis| RmsNormalization { axis, epsilon: 0.0 }.into()),
        size().prop_map(|axis| LpNormalization { axis, norm: Norm::L1 }.into()),
        (size(), size()).prop_map(|(axis, axis_end)| LogSoftmax { axis, axis_end }.into()),
        size().prop_map(|size| Lrn { size, alpha: 1.0, beta: 1.0, bias: 1.0 }.into()),
        (size(), size(), any::<bool>()).prop_map(|(heads, size, interleaved)| RotaryEmbedding {
            heads,
            size,
            interleaved
        }
        .into()),
        (any::<bool>(), any::<i64>()).prop_map(|(upper, offset)| Trilu { upper, offset }.into()),
        prop::sample::select(vec![Op::from(PRelu), Op::from(Pow), Op::from(Where)]),
        resize.prop_map(|(size, scales, mode, coordinates)| {
            Resize { size, scales, mode, coordinates }.into()
        }),
    ]
}

fn value(shape: Vec<usize>) -> Value {
    Value { name: String::new(), info: ValueInfo { shape, element: ElementType::F32 }, constant: None }
}

/// Whether evaluation is fast because the results are small.
fn is_small(infos: &[ValueInfo]) -> bool {
    infos.iter().all(|info| info.shape.iter().product::<usize>() <= 1 << 12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn inference_refuses_or_stays_within_bounds(
        op in any_op(),
        shapes in prop::collection::vec(prop::collection::vec(size(), 0..5), 0..4),
    ) {
        let values: Vec<Value> = shapes.into_iter().map(value).collect();
        if let Ok(infos) = op.infer(&values.iter().collect::<Vec<_>>()) {
            for info in infos {
                prop_assert!(npukit_graph::shape::elements(&info.shape).is_ok());
            }
        }
    }

    #[test]
    fn evaluation_gives_what_inference_says(
        op in any_op(),
        shapes in prop::collection::vec(prop::collection::vec(0..4usize, 0..5), 1..3),
        indices in prop::collection::vec(any::<i64>(), 0..3),
    ) {
        let mut tensors: Vec<Tensor> = shapes.iter().map(|shape| noise(shape, 1)).collect();
        match op {
            Op::Gather(_) => tensors.insert(1, i64s(&[indices.len()], &indices)),
            Op::GatherElements(_) | Op::GatherNd(_) | Op::ScatterElements(_) | Op::ScatterNd(_) => {
                // The shape of another operand, which fits more often.
                let shape = tensors[tensors.len() - 1].shape().to_vec();
                let count: usize = shape.iter().product();
                let values: Vec<i64> = (0..count as i64).map(|i| indices.first().map_or(i % 3 - 1, |&first| first)).collect();
                tensors.insert(1, i64s(&shape, &values));
            }
            Op::RoiAlign(_) => tensors.push(i64s(&[indices.len()], &indices)),
            _ => {}
        }
        let values: Vec<Value> = tensors.iter().map(|tensor| value(tensor.shape().to_vec())).collect();
        let mut values = values;
        values.iter_mut().zip(&tensors).for_each(|(value, tensor)| value.info.element = tensor.element());
        let infos = op.infer(&values.iter().collect::<Vec<_>>());
        if infos.as_ref().is_ok_and(|infos| !is_small(infos)) {
            return Ok(());
        }
        let results = op.eval(&tensors.iter().collect::<Vec<_>>());
        if let (Ok(infos), Ok(results)) = (&infos, &results) {
            let shapes: Vec<&[usize]> = results.iter().map(Tensor::shape).collect();
            prop_assert_eq!(shapes, infos.iter().map(|info| info.shape.as_slice()).collect::<Vec<_>>());
        }
        prop_assert!(infos.is_ok() || results.is_err());
    }
}
