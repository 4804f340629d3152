//! Rejected graphs at the limits of sizes, and warnings.

use npukit_graph::op::{
    Binary, BinaryKind, Clip, Concat, Coordinates, Gemm, LeakyRelu, MaxPool, NearestMode, Pad, PadMode,
    Reduce, ReduceKind, Relu, Reshape, Resize, ResizeMode, Slice, SliceRange, Transpose, Window,
};
use npukit_graph::quantize::Kind;
use npukit_graph::{Graph, ValueId};
use npukit_lower::Reject;
use npukit_numeric::Tensor;
use npukit_opu::Config;
use npukit_opu::internals::lower::{Options, backend, builder, compile};

use super::cases::{node, plain, pool};
use super::runner::conv;
use super::{graph, image, quantized};

/// Returns the reasons why the nodes of a graph are rejected.
fn reasons(graph: &Graph) -> Vec<String> {
    let config = Config::preset("reference").unwrap();
    let problems = npukit_opu::internals::lower::check(graph, &config, Options::default());
    problems.into_iter().map(|problem| problem.reason).collect()
}

#[test]
fn sizes_of_images_end_where_registers_do() {
    for (shape, expected) in [
        (&[][..], Some([1, 1, 1])),
        (&[5], Some([1, 1, 5])),
        (&[7, 5], Some([1, 7, 5])),
        (&[2, 3, 4], Some([1, 6, 4])),
        (&[1, 1023, 1023, 9], Some([1023, 1023, 9])),
        (&[2, 3, 3, 1], None),
        (&[1, 1024, 1, 1], None),
        (&[1, 1, 1024, 1], None),
        (&[1, 0, 2, 2], None),
        (&[1, 2, 0, 2], None),
        (&[1, 2, 2, 0], None),
    ] {
        assert_eq!(builder::extent(shape).ok(), expected, "{shape:?}");
    }
    let several = Reject::new("it processes 2 images at once", "export the model with batch size 1");
    assert_eq!(builder::extent(&[2, 3, 3, 1]), Err(several));
}

#[test]
fn only_clipping_from_zero_has_a_form() {
    let clip = |min, max| graph(&[1, 4, 4, 2], |g, x| vec![node(g, Clip { min, max }, &[x], "y")]);
    assert_eq!(reasons(&clip(0.0, 6.0)), [""; 0]);
    for (min, max) in [(-1.0, 1.0), (0.0, f32::INFINITY), (f32::NEG_INFINITY, 6.0), (0.0, 0.0)] {
        let expected =
            format!("it clips between {min} and {max}; the machine supports 0 and a positive number");
        assert_eq!(reasons(&clip(min, max)), [expected]);
    }
    // For integers, the bound must be an integer.
    let graph = clip(0.0, 0.3);
    let quantization = quantized(&graph, &[image(&[1, 4, 4, 2], 7)]);
    let options = Options { quantization: Some(&quantization), ..Options::default() };
    let error = compile(&graph, &Config::preset("reference").unwrap(), options).unwrap_err().to_string();
    assert!(error.contains("its bound 0.3 is not a multiple of the step 2^-7"), "{error}");
}

#[test]
fn borders_and_windows_end_where_fields_do() {
    let padded = |size: usize, by: isize| {
        let pads = vec![[0, 0], [0, 0], [by, 0], [0, 0]];
        graph(&[1, 2, size, 1], |g, x| vec![node(g, Pad { pads, mode: PadMode::Constant(0.0) }, &[x], "y")])
    };
    assert_eq!(reasons(&padded(4, 15)), [""; 0]);
    assert_eq!(reasons(&padded(4, 16)), ["it reads 16 pixels beyond the image; the maximum is 15"]);
    let around = |size| {
        graph(&[1, 1, size, 1], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            vec![conv(g, x, "y", [1, 3, 1, 1], plain([1, 1], [0, 1, 0, 1]))]
        })
    };
    assert_eq!(reasons(&around(1021)), [""; 0]);
    assert_eq!(
        reasons(&around(1022)),
        ["its operand has 1022 pixels along an axis and a border of 1: together more than 1023"]
    );
    // Windows have at most 15 pixels, and steps at most 7. A window that is larger than its image
    // is cut.
    let pooled = |size, kernel, strides| {
        reasons(&graph(&[1, size, size, 1], |g, x| vec![node(g, pool(kernel, strides, [0; 4]), &[x], "y")]))
    };
    assert!(pooled(40, [15, 1], [7, 1]).is_empty() && pooled(40, [1, 15], [1, 7]).is_empty());
    for (kernel, strides) in [([16, 1], [1, 1]), ([1, 16], [1, 1]), ([1, 1], [8, 1]), ([1, 1], [1, 8])] {
        assert_eq!(pooled(40, kernel, strides).len(), 1, "{kernel:?} {strides:?}");
    }
    let dilated = Window { dilations: [2, 1], ..Window::plain([2, 2], [1, 1]) };
    let dilated = graph(&[1, 5, 5, 1], |g, x| vec![node(g, MaxPool { window: dilated }, &[x], "y")]);
    assert_eq!(reasons(&dilated), ["windows of [2, 2] by [1, 1], dilated by [2, 1]"]);
}

#[test]
fn operands_that_no_instruction_takes_are_named() {
    let broadcast = graph(&[1, 2, 2, 3], |g, x| {
        let mean = Reduce { kind: ReduceKind::Mean, axes: vec![1, 2], keep_dims: true };
        let mean = node(g, mean, &[x], "mean");
        vec![node(g, Binary { kind: BinaryKind::Add }, &[x, mean], "sum")]
    });
    assert_eq!(
        reasons(&broadcast),
        ["its operands have shapes [1, 2, 2, 3] and [1, 1, 1, 3], which need broadcasting"]
    );
    for (kind, axes) in
        [(ReduceKind::Max, vec![1, 2]), (ReduceKind::Mean, vec![1]), (ReduceKind::Sum, vec![3])]
    {
        let op = Reduce { kind, axes, keep_dims: true };
        let reduced = graph(&[1, 2, 2, 3], |g, x| vec![node(g, op.clone(), &[x], "y")]);
        let expected = format!("{:?} over axes {:?} of [1, 2, 2, 3] is not supported", op.kind, op.axes);
        assert_eq!(reasons(&reduced), [expected]);
    }
    let addend = graph(&[2, 3], |g, x| {
        let (w, c) = (g.add_constant("w", image(&[3, 4], 1)), g.add_constant("c", image(&[2, 4], 1)));
        vec![node(g, Gemm::PLAIN, &[x, w, c], "y")]
    });
    assert_eq!(reasons(&addend), ["its addend has shape [2, 4], but must have one element per column"]);
    for (axis, step) in [(3, 2), (1, -1)] {
        let start = if step < 0 { 3 } else { 0 };
        let ranges = vec![SliceRange { axis, start, length: 2, step }];
        let stepped = graph(&[1, 4, 4, 4], |g, x| vec![node(g, Slice { ranges }, &[x], "y")]);
        assert_eq!(reasons(&stepped), [format!("it slices axis {axis} with steps of {step}")]);
    }
    let several = graph(&[2, 3, 4], |g, x| {
        let x = node(g, Relu, &[x], "relu");
        let ranges = vec![SliceRange { axis: 1, start: 1, length: 1, step: 1 }];
        vec![node(g, Slice { ranges }, &[x], "cut"), node(g, Concat { axis: 1 }, &[x, x], "joined")]
    });
    assert_eq!(
        reasons(&several),
        ["it cuts axis 1 of [2, 3, 4]", "it concatenates along axis 1 of [2, 6, 4]"]
    );
    let resize = |size: [usize; 2], mode| Resize {
        size,
        scales: size.map(|size| size as f32 / 3.0),
        mode,
        coordinates: Coordinates::Asymmetric,
    };
    for (size, mode) in [
        ([6, 6], ResizeMode::Linear),
        ([2, 1], ResizeMode::Nearest(NearestMode::Floor)),
        ([5, 6], ResizeMode::Nearest(NearestMode::Floor)),
        ([6, 5], ResizeMode::Nearest(NearestMode::Floor)),
    ] {
        let resized = graph(&[1, 3, 3, 2], |g, x| vec![node(g, resize(size, mode), &[x], "y")]);
        assert!(reasons(&resized)[0].starts_with("it resamples [3, 3] pixels to"), "{:?}", reasons(&resized));
    }
    // If the channels stay the same, the reason is the number of pixels. Otherwise it is the
    // regrouped channels.
    let shaped = |to: &[usize]| {
        graph(&[1, 40, 40, 3], |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let y = node(g, Reshape { shape: to.to_vec() }, &[x], "y");
            vec![node(g, Relu, &[y], "z")]
        })
    };
    assert_eq!(
        reasons(&shaped(&[1600, 3])),
        ["a feature map of 1 x 1600 pixels, 3 channels: sides must be 1 to 1023"]
    );
    for to in [&[1, 40, 40, 1, 3][..], &[40, 1, 1, 120], &[1200, 4]] {
        let expected = format!("it regroups pixels and channels, [1, 40, 40, 3] to {to:?}");
        assert_eq!(reasons(&shaped(to)), [expected]);
    }
    // Pixels and channels are exchanged.
    for (from, to) in [
        (&[1, 2, 3, 4][..], &[1, 3, 2, 4][..]),
        (&[1, 2, 3, 4], &[1, 2, 2, 6]),
        (&[1, 4, 1, 3], &[1, 1, 3, 4]),
        (&[1, 1, 4, 3], &[1, 4, 1, 3]),
        (&[1, 2, 2, 3], &[1, 1, 4, 3]),
    ] {
        let shaped = graph(from, |g, x| {
            let x = node(g, Relu, &[x], "relu");
            let y = node(g, Reshape { shape: to.to_vec() }, &[x], "y");
            vec![node(g, Relu, &[y], "z")]
        });
        let expected = format!("it regroups pixels and channels, {from:?} to {to:?}");
        assert_eq!(reasons(&shaped), [expected]);
    }
}

/// The host can lay out an input in one way only; a second layout is rejected.
#[test]
fn hints_tell_inputs_from_what_is_computed() {
    let hints = |first: bool| {
        let turned = graph(&[1, 2, 3, 4], |g, x| {
            let y = if first { x } else { node(g, Relu, &[x], "relu") };
            let turned = node(g, Transpose { perm: vec![0, 3, 1, 2] }, &[y], "turned");
            vec![node(g, Relu, &[turned], "z"), node(g, Relu, &[x], "w")]
        });
        let config = Config::preset("reference").unwrap();
        let problems = npukit_opu::internals::lower::check(&turned, &config, Options::default());
        problems.into_iter().map(|problem| problem.hint).collect::<Vec<_>>()
    };
    assert_eq!(
        hints(true),
        ["change the layout of the input to the one needed here, or remove the output with the other layout"]
    );
    assert_eq!(
        hints(false),
        [
            "keep images in one axis order, or cut the model before this node; the host transposes inputs and outputs"
        ]
    );
}

#[test]
fn a_refusal_is_told_with_its_hint() {
    let leaky = graph(&[1, 2, 2, 3], |g, x| vec![node(g, LeakyRelu { alpha: 0.1 }, &[x], "leaky")]);
    let quantization = quantized(&leaky, &[image(&[1, 2, 2, 3], 1)]);
    let options = Options { quantization: Some(&quantization), ..Options::default() };
    let error = compile(&leaky, &Config::preset("reference").unwrap(), options).unwrap_err().to_string();
    assert_eq!(
        error,
        "1 of the model's nodes cannot be lowered:\n  leaky (LeakyRelu): its slope is 0.1, but the machine only has 1/8; \
         train with a slope of 0.125, or use that slope with the option leaky=nearest"
    );
}

#[test]
fn warnings_say_what_saturates_and_what_is_done_otherwise() {
    let warnings = |small: f32| {
        let graph = graph(&[1, 2, 2, 16], |g, x| {
            // One weight is large; it leaves enough bits for the others, or not.
            let weights = (0..256).map(|index| if index == 0 { 1.0 } else { small }).collect();
            let w = g.add_constant("w", Tensor::from_f32(vec![1, 1, 16, 16], weights).unwrap());
            let y = node(g, plain([1, 1], [0; 4]), &[x, w], "a");
            let y = node(g, LeakyRelu { alpha: 0.1 }, &[y], "leaky");
            let y = node(g, Relu, &[y], "relu");
            vec![node(g, LeakyRelu { alpha: 0.1 }, &[y], "again")]
        });
        let mut quantization = quantized(&graph, &[]);
        for id in (0..graph.values.len() as u32).map(ValueId) {
            if quantization.fraction(id).is_some() {
                quantization.set(id, Kind::Activation, 4);
            }
        }
        let config = Config::preset("reference").unwrap();
        let options = Options { quantization: Some(&quantization), approximate: true, ..Options::default() };
        let lowered = compile(&graph, &config, options).unwrap();
        backend::program(&lowered, "test".into(), "reference".into(), &config).warnings
    };
    let leaky = "leaky ReLU of slope 0.1 is computed with slope 1/8";
    assert_eq!(warnings(1.0 / 64.0), [leaky]);
    let [saturated, approximated] = &warnings(3.0 / 128.0)[..] else { panic!("two warnings") };
    let end = "(1): steps are chosen for the least error in total, and may be finer than the quantization's; `opu:int16` has a wider type";
    assert!(
        saturated.starts_with("1 weight or bias saturates, in layer `a") && saturated.ends_with(end),
        "{saturated}"
    );
    assert_eq!(approximated, leaky);
}
