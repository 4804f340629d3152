//! One graph for each operator family and each way of lowering it.

use npukit_graph::op::{
    AveragePool, BatchNormalization, Binary, BinaryKind, Clip, Concat, Conv, Coordinates, Gemm, LeakyRelu,
    MatMul, MaxPool, NearestMode, Pad, PadMode, Relu, Reshape, Resize, ResizeMode, Slice, SliceRange,
    Softmax, Split, Transpose, Window,
};
use npukit_graph::quantize::Kind;
use npukit_graph::{Graph, Op as Operator, ValueId};
use npukit_numeric::Tensor;
use npukit_opu::{Clock, Config, Op};
use npukit_target::CompileOptions;

use super::runner::{check_quantized, conv};
use super::{check, graph, image, quantized};

pub fn plain(strides: [usize; 2], pads: [usize; 4]) -> Conv {
    Conv { strides, dilations: [1, 1], pads, group: 1 }
}

pub fn pool(kernel: [usize; 2], strides: [usize; 2], pads: [usize; 4]) -> MaxPool {
    MaxPool { window: Window { pads, ..Window::plain(kernel, strides) } }
}

pub fn node(graph: &mut Graph, op: impl Into<Operator>, inputs: &[ValueId], name: &str) -> ValueId {
    graph.add_node(name, op.into(), inputs.to_vec(), &[name]).unwrap()[0]
}

pub fn add(graph: &mut Graph, a: ValueId, b: ValueId, name: &str) -> ValueId {
    node(graph, Binary { kind: BinaryKind::Add }, &[a, b], name)
}

#[test]
fn convolutions_of_odd_sizes() {
    let lowered = check(
        &graph(&[1, 13, 11, 20], |g, x| {
            let y = conv(g, x, "a", [3, 3, 20, 70], plain([1, 1], [1, 1, 1, 1]));
            vec![conv(g, y, "b", [5, 2, 70, 9], plain([2, 3], [2, 0, 1, 1]))]
        }),
        3.0,
    );
    assert_eq!(lowered.model.layers.len(), 2);
}

#[test]
fn few_channels_are_packed_by_the_host() {
    let lowered = check(
        &graph(&[1, 17, 17, 3], |g, x| vec![conv(g, x, "stem", [7, 7, 3, 24], plain([2, 2], [3, 3, 3, 3]))]),
        3.0,
    );
    let patches = lowered.model.inputs[0].patches.unwrap();
    assert_eq!((patches.kernel, patches.stride, lowered.model.inputs[0].planes.len()), ([7, 7], [2, 2], 3));
}

#[test]
fn large_kernels_dilations_and_strides_are_taken_apart() {
    check(
        &graph(&[1, 24, 24, 16], |g, x| vec![conv(g, x, "a", [18, 17, 16, 5], plain([1, 1], [8, 8, 9, 8]))]),
        4.0,
    );
    let dilated = Conv { dilations: [9, 10], ..plain([1, 1], [9, 10, 9, 10]) };
    check(&graph(&[1, 23, 22, 64], |g, x| vec![conv(g, x, "a", [3, 3, 64, 8], dilated)]), 3.0);
    check(
        &graph(&[1, 27, 30, 64], |g, x| vec![conv(g, x, "a", [2, 3, 64, 8], plain([9, 8], [0, 1, 0, 2]))]),
        3.0,
    );
    check(&graph(&[1, 12, 12, 64], |g, x| vec![conv(g, x, "a", [1, 1, 64, 64], plain([2, 2], [0; 4]))]), 3.0);
}

#[test]
fn groups_use_their_own_channels_only() {
    let grouped = Conv { group: 4, ..plain([1, 1], [1, 1, 1, 1]) };
    check(&graph(&[1, 9, 9, 96], |g, x| vec![conv(g, x, "a", [3, 3, 24, 72], grouped)]), 3.0);
    let depthwise = Conv { group: 100, ..plain([2, 2], [1, 1, 0, 0]) };
    let lowered =
        check(&graph(&[1, 10, 10, 100], |g, x| vec![conv(g, x, "a", [3, 3, 1, 100], depthwise)]), 3.0);
    assert!(lowered.blocks[0].iter().all(|block| block.loads.len() == 1));
}

#[test]
fn images_larger_than_the_buffers_are_tiled() {
    let lowered = check(
        &graph(&[1, 61, 150, 16], |g, x| {
            let y = conv(g, x, "a", [3, 3, 16, 16], plain([1, 1], [1, 1, 1, 1]));
            let y = node(g, Relu, &[y], "r");
            vec![node(g, pool([2, 2], [2, 2], [0; 4]), &[y], "p")]
        }),
        3.0,
    );
    assert_eq!(lowered.model.layers.len(), 1);
    assert!(lowered.tilings[0].rows.len() * lowered.tilings[0].columns.len() > 4);
}

#[test]
fn pooling_with_padding_and_steps() {
    for (kernel, strides, pads) in [
        ([3, 3], [2, 2], [1, 1, 1, 1]),
        ([2, 2], [1, 1], [0, 0, 1, 1]),
        ([5, 5], [1, 1], [2, 2, 2, 2]),
        ([3, 2], [3, 2], [0; 4]),
    ] {
        check(
            &graph(&[1, 13, 14, 30], |g, x| {
                let y = conv(g, x, "a", [1, 1, 30, 40], plain([1, 1], [0; 4]));
                vec![node(g, pool(kernel, strides, pads), &[y], "p")]
            }),
            3.0,
        );
        check(&graph(&[1, 40, 70, 5], |g, x| vec![node(g, pool(kernel, strides, pads), &[x], "p")]), 1.0);
    }
}

#[test]
fn residuals_join_the_layer_before() {
    let lowered = check(
        &graph(&[1, 14, 14, 80], |g, x| {
            let x = node(g, Relu, &[x], "in");
            let y = conv(g, x, "a", [3, 3, 80, 80], plain([1, 1], [1, 1, 1, 1]));
            let y = node(g, Relu, &[y], "ra");
            let y = conv(g, y, "b", [3, 3, 80, 80], plain([1, 1], [1, 1, 1, 1]));
            let y = add(g, x, y, "sum");
            let y = node(g, Relu, &[y], "rb");
            let z = conv(g, y, "c", [1, 1, 80, 160], plain([2, 2], [0; 4]));
            let w = conv(g, y, "d", [3, 3, 80, 160], plain([2, 2], [1, 1, 1, 1]));
            let y = add(g, z, w, "both");
            vec![y]
        }),
        6.0,
    );
    assert_eq!(lowered.model.layers.len(), 4);
}

/// Returns the number of layers of a convolution that is clipped.
fn clipped(max: f32) -> usize {
    let lowered = check(
        &graph(&[1, 9, 10, 70], |g, x| {
            let y = conv(g, x, "a", [3, 3, 70, 70], plain([1, 1], [1, 1, 1, 1]));
            vec![node(g, Clip { min: 0.0, max }, &[y], "clip")]
        }),
        // Three steps of a convolution, as elsewhere; one of its steps is up to four of the result.
        4.0 * 3.0,
    );
    lowered.model.layers.len()
}

#[test]
fn clipping_is_two_rectifications() {
    assert_eq!(clipped(0.25), 2, "one more");
    assert_eq!(clipped(64.0), 1, "no integer is above the bound");
    // The clipped value is in memory and has other readers.
    let lowered = check(
        &graph(&[1, 6, 7, 16], |g, x| {
            let y = node(g, Clip { min: 0.0, max: 0.5 }, &[x], "clip");
            vec![add(g, x, y, "sum")]
        }),
        1.0,
    );
    assert_eq!(lowered.model.layers.len(), 2, "the sum is not in memory yet");
}

#[test]
fn every_form_of_post_processing() {
    let leaky = LeakyRelu { alpha: 0.125 };
    for form in 0..8 {
        let lowered = check(
            &graph(&[1, 12, 10, 24], |g, x| {
                let half = if form >= 6 { node(g, pool([2, 2], [2, 2], [0; 4]), &[x], "half") } else { x };
                let half = node(g, Relu, &[half], "other");
                let mut y = conv(g, x, "a", [3, 3, 24, 24], plain([1, 1], [1, 1, 1, 1]));
                let act = |g: &mut Graph, y| node(g, leaky.clone(), &[y], "act");
                let pooled = |g: &mut Graph, y| node(g, pool([2, 2], [2, 2], [0; 4]), &[y], "pool");
                y = match form {
                    0 => act(g, y),
                    1 => pooled(g, y),
                    2 => {
                        let y = act(g, y);
                        add(g, y, half, "sum")
                    }
                    3 => {
                        let y = add(g, y, half, "sum");
                        act(g, y)
                    }
                    4 => {
                        let y = act(g, y);
                        let y = add(g, y, half, "sum");
                        pooled(g, y)
                    }
                    5 => {
                        let y = pooled(g, y);
                        act(g, y)
                    }
                    6 => {
                        let y = pooled(g, y);
                        add(g, y, half, "sum")
                    }
                    _ => {
                        let y = act(g, y);
                        let y = pooled(g, y);
                        add(g, y, half, "sum")
                    }
                };
                vec![y]
            }),
            4.0,
        );
        assert!(lowered.model.layers.len() <= 4, "form {form}");
    }
}

#[test]
fn means_over_windows_and_images() {
    let average = |kernel, strides, pads, count_include_pad| AveragePool {
        window: Window { pads, ..Window::plain(kernel, strides) },
        count_include_pad,
    };
    check(
        &graph(&[1, 7, 7, 130], |g, x| vec![node(g, average([7, 7], [1, 1], [0; 4], false), &[x], "y")]),
        1.5,
    );
    check(
        &graph(&[1, 9, 9, 5], |g, x| vec![node(g, average([3, 3], [2, 2], [1, 1, 1, 1], true), &[x], "y")]),
        1.5,
    );
    // Sums of non-negative numbers only grow, so no intermediate sum exceeds the last.
    let large = graph(&[1, 33, 20, 64], |g, x| {
        let x = node(g, Relu, &[x], "relu");
        vec![node(g, average([33, 20], [1, 1], [0; 4], false), &[x], "y")]
    });
    check(&large, 1.5);
}

#[test]
fn matrices_and_what_the_host_does_last() {
    let lowered = check(
        &graph(&[1, 5, 5, 33], |g, x| {
            let y = conv(g, x, "a", [3, 3, 33, 70], plain([2, 2], [1, 1, 1, 1]));
            let y = node(g, Relu, &[y], "r");
            let y = node(g, Reshape { shape: vec![1, 3 * 3 * 70] }, &[y], "flat");
            let w = g.add_constant("w", {
                let t = image(&[630, 10], 9);
                Tensor::from_f32(vec![630, 10], t.as_f32().unwrap().iter().map(|x| x * 0.1).collect())
                    .unwrap()
            });
            let b = g.add_constant("b", image(&[10], 4));
            vec![node(g, Gemm::PLAIN, &[y, w, b], "dense")]
        }),
        4.0,
    );
    assert_eq!(lowered.model.layers.len(), 2);
    let softmax = graph(&[6, 40], |g, x| {
        let w = g.add_constant("w", image(&[40, 7], 2));
        let y = node(g, Gemm { trans_b: false, ..Gemm::PLAIN }, &[x, w], "dense");
        vec![node(g, Softmax { axis: 1, axis_end: 2 }, &[y], "soft")]
    });
    let quantization = quantized(&softmax, &[image(&[6, 40], 7)]);
    let config = Config::preset("reference").unwrap();
    let options =
        npukit_opu::internals::lower::Options { quantization: Some(&quantization), ..Default::default() };
    let lowered = npukit_opu::internals::lower::compile(&softmax, &config, options).unwrap();
    assert_eq!(lowered.model.outputs[0].steps[0].op.name(), "Softmax");
}

#[test]
fn elements_move_by_views_and_copies() {
    check(
        &graph(&[1, 8, 9, 40], |g, x| {
            let a = conv(g, x, "a", [1, 1, 40, 24], plain([1, 1], [0; 4]));
            let b = conv(g, x, "bb", [3, 3, 40, 50], plain([1, 1], [1, 1, 1, 1]));
            let both = node(g, Concat { axis: 3 }, &[a, b], "both");
            let parts = g
                .add_node("split", Split { axis: 3, sizes: vec![30, 44] }.into(), vec![both], &["p", "q"])
                .unwrap();
            let ranges = vec![
                SliceRange { axis: 1, start: 1, length: 5, step: 1 },
                SliceRange { axis: 3, start: 2, length: 20, step: 1 },
            ];
            let cut = node(g, Slice { ranges }, &[parts[1]], "cut");
            let c = conv(g, cut, "ccc", [3, 3, 20, 30], plain([1, 1], [1, 1, 1, 1]));
            let cut = node(
                g,
                Slice { ranges: vec![SliceRange { axis: 1, start: 0, length: 5, step: 1 }] },
                &[parts[0]],
                "cut2",
            );
            let rows = node(g, Concat { axis: 1 }, &[c, cut], "rows");
            let padded = node(
                g,
                Pad { pads: vec![[0, 0], [1, 2], [0, 3], [0, 0]], mode: PadMode::Constant(0.0) },
                &[rows],
                "padded",
            );
            vec![padded]
        }),
        4.0,
    );
    let every_second = vec![SliceRange { axis: 2, start: 1, length: 4, step: 2 }];
    check(&graph(&[1, 8, 9, 4], |g, x| vec![node(g, Slice { ranges: every_second }, &[x], "y")]), 1.0);
}

#[test]
fn pixels_are_repeated() {
    for (size, copies) in [([5, 7], [2, 2]), ([40, 3], [3, 1]), ([4, 4], [1, 4])] {
        let to = [size[0] * copies[0], size[1] * copies[1]];
        let resize = Resize {
            size: to,
            scales: copies.map(|copies| copies as f32),
            mode: ResizeMode::Nearest(NearestMode::Floor),
            coordinates: Coordinates::Asymmetric,
        };
        check(&graph(&[1, size[0], size[1], 70], |g, x| vec![node(g, resize, &[x], "y")]), 1.0);
    }
}

#[test]
fn sums_differences_and_normalization_by_channel() {
    check(
        &graph(&[1, 6, 6, 20], |g, x| {
            let small = |g: &mut Graph, name: &str, seed, offset: f32| {
                let data = image(&[20], seed).as_f32().unwrap().iter().map(|x| x * 0.5 + offset).collect();
                g.add_constant(name, Tensor::from_f32(vec![20], data).unwrap())
            };
            let parameters = [
                small(g, "scale", 1, 1.0),
                small(g, "bias", 2, 0.0),
                small(g, "mean", 3, 0.0),
                small(g, "variance", 4, 1.0),
            ];
            let op = BatchNormalization { epsilon: 1e-3 };
            let inputs: Vec<ValueId> = [x].into_iter().chain(parameters).collect();
            let y = node(g, op, &inputs, "bn");
            let y = node(g, Relu, &[y], "relu");
            let z = node(g, Binary { kind: BinaryKind::Sub }, &[x, y], "difference");
            let twice = add(g, z, z, "twice");
            let factor = g.add_constant("factor", Tensor::from_f32(vec![1], vec![0.3]).unwrap());
            vec![node(g, Binary { kind: BinaryKind::Mul }, &[twice, factor], "scaled")]
        }),
        4.0,
    );
}

/// Graph of an exported pointwise convolution of one pixel: if all other axes have length 1, layout
/// changes are reshapes.
#[test]
fn a_single_pixel_may_change_its_layout() {
    check(
        &graph(&[1, 3, 1, 1], |g, x| {
            let x = node(g, Reshape { shape: vec![1, 1, 1, 3] }, &[x], "nhwc");
            let y = conv(g, x, "a", [1, 1, 3, 3], plain([1, 1], [0; 4]));
            vec![node(g, Reshape { shape: vec![1, 3, 1, 1] }, &[y], "nchw")]
        }),
        1.5,
    );
}

/// Two convolutions with borders in memory that the planner reuses between them.
#[test]
fn drivers_rewrite_pixels_only() {
    let lowered = check(
        &graph(&[1, 4, 4, 64], |g, x| {
            let y = conv(g, x, "a", [3, 3, 64, 64], plain([1, 1], [1, 1, 1, 1]));
            vec![conv(g, y, "b", [3, 3, 64, 64], plain([1, 1], [1, 1, 1, 1]))]
        }),
        4.0,
    );
    let pads: Vec<usize> =
        (0..lowered.ops.len()).filter(|&i| matches!(lowered.ops[i], Op::Pad { .. })).collect();
    assert_eq!(pads.len(), 2, "the border of the input, and the border in between");
    // Cycles for clearing the input's border and for separate planes. `SOURCES.md` has the figures.
    let cycles = |ops: &[Op]| Clock::cycles(&Config::preset("reference").unwrap(), ops).unwrap();
    let mut without = lowered.ops.clone();
    let pad = pads.into_iter().find(|&i| lowered.ops[i] == Op::Pad { addr: 0, p: 1 }).unwrap();
    without.remove(pad);
    assert_eq!((cycles(&lowered.ops), cycles(&without)), (3332, 3312));
    assert_eq!((lowered.plan.features, lowered.plan.aggregate), (4608, 5632));
}

/// Upstream's simulator requires a residual to have the shape of the values it is added to.
#[test]
fn residuals_of_few_channels_are_as_wide_as_the_sums() {
    for channels in [1, 3, 8, 15, 20, 70] {
        let graph = graph(&[1, 5, 6, channels], |g, x| {
            let y = conv(g, x, "a", [3, 3, channels, channels], plain([1, 1], [1, 1, 1, 1]));
            let y = node(g, Relu, &[y], "relu");
            let z = conv(g, y, "b", [1, 1, channels, channels], plain([1, 1], [0; 4]));
            vec![add(g, z, y, "sum")]
        });
        // A residual must have the fraction length of the sum.
        let mut quantization = quantized(&graph, &[]);
        for index in 0..graph.values.len() as u32 {
            if quantization.fraction(ValueId(index)).is_some() {
                quantization.set(ValueId(index), Kind::Activation, 4);
            }
        }
        let lowered = check_quantized(&graph, &image(&[1, 5, 6, channels], 7), &quantization, 4.0);
        assert!(lowered.model.layers.iter().any(|layer| layer.post.residual().is_some()), "{channels}");
    }
}

#[test]
fn what_the_machine_cannot_do_is_named() {
    let refused = |graph: &Graph| {
        let quantization = quantized(graph, &[image(graph.shape(graph.inputs[0]), 1)]);
        let options =
            npukit_opu::internals::lower::Options { quantization: Some(&quantization), ..Default::default() };
        npukit_opu::internals::lower::check(graph, &Config::preset("reference").unwrap(), options)
    };
    let problems = refused(&graph(&[1, 6, 6, 4], |g, x| {
        let y = node(g, LeakyRelu { alpha: 0.1 }, &[x], "leaky");
        let z = node(g, Binary { kind: BinaryKind::Mul }, &[y, x], "product");
        vec![node(g, Relu, &[z], "relu")]
    }));
    let names: Vec<&str> = problems.iter().map(|problem| problem.node.as_str()).collect();
    assert_eq!(names, ["leaky", "product"]);
    assert!(problems[0].hint.contains("leaky=nearest"), "{}", problems[0].hint);
}

fn problems(graph: &Graph) -> Vec<String> {
    let config = Config::preset("reference").unwrap();
    let problems = npukit_opu::internals::lower::check(graph, &config, Default::default());
    problems
        .into_iter()
        .map(|problem| format!("{} ({}): {}", problem.node, problem.op, problem.reason))
        .collect()
}

#[test]
fn a_check_goes_by_the_options_of_a_compilation() {
    let graph = graph(&[1, 6, 6, 4], |g, x| vec![node(g, LeakyRelu { alpha: 0.1 }, &[x], "leaky")]);
    let instance = npukit_opu::OPU.instance(npukit_target::InstanceSpec::Preset("reference")).unwrap();
    let check = |value: &str| {
        let options = [("leaky".to_owned(), value.to_owned())].into();
        instance.check(&graph, &CompileOptions { options, ..CompileOptions::default() })
    };
    assert_eq!(check("exact").unwrap().len(), 1);
    assert!(check("nearest").unwrap().is_empty());
    assert!(check("most").is_err());
}

/// A value that is not in memory because its producer is rejected is not rejected again.
#[test]
fn a_cause_is_said_once() {
    let shuffled = graph(&[1, 56, 56, 112], |g, x| {
        let y = conv(g, x, "a", [1, 1, 112, 112], plain([1, 1], [0; 4]));
        let y = node(g, Reshape { shape: vec![1, 56, 56, 4, 28] }, &[y], "split");
        let y = node(g, Transpose { perm: vec![0, 1, 2, 4, 3] }, &[y], "shuffle");
        let y = node(g, Reshape { shape: vec![1, 56, 56, 112] }, &[y], "join");
        vec![conv(g, y, "b", [1, 1, 112, 8], plain([1, 1], [0; 4]))]
    });
    let [split, shuffle] = &problems(&shuffled)[..] else { panic!("{:?}", problems(&shuffled)) };
    assert!(split.starts_with("split (Reshape): it regroups pixels and channels"), "{split}");
    assert!(shuffle.starts_with("shuffle (Transpose): axes [0, 1, 2, 4, 3]"), "{shuffle}");

    // Several images are rejected at the input and must not be rejected again in every layer.
    let images = graph(&[2, 8, 8, 16], |g, x| {
        let layer = |g: &mut Graph, x, i| conv(g, x, &format!("c{i}"), [3, 3, 16, 16], plain([1, 1], [1; 4]));
        vec![(0..20).fold(x, |x, i| layer(g, x, i))]
    });
    assert_eq!(problems(&images), ["x (input): it processes 2 images at once"]);
}

/// Pixels of axes other than rows and columns are contiguous: along the first of these axes, cuts
/// and joins are possible.
#[test]
fn pixels_of_several_axes_are_cut_and_joined_along_the_first() {
    for (shape, axis) in [(&[3, 4, 8][..], 0), (&[1, 4, 8], 1), (&[3, 8], 0), (&[1, 2, 3, 2, 8], 1)] {
        let graph = graph(shape, |g, x| {
            let x = node(g, Relu, &[x], "x0");
            let ranges = vec![SliceRange { axis, start: 1, length: 1, step: 1 }];
            let cut = node(g, Slice { ranges }, &[x], "cut");
            let joined = node(g, Concat { axis }, &[cut, x], "joined");
            let w = g.add_constant("w", image(&[8, 5], 3));
            vec![node(g, MatMul, &[joined, w], "y")]
        });
        check(&graph, 3.0);
    }
}

/// Reasons are the same sentence for nodes of one kind, and true: a product of two activations has
/// no weights to export.
#[test]
fn reasons_name_no_values() {
    let attention = graph(&[1, 8, 16], |g, x| {
        let q = node(g, Relu, &[x], "q");
        let k = node(g, Transpose { perm: vec![0, 2, 1] }, &[q], "k");
        vec![node(g, MatMul, &[q, k], "scores")]
    });
    let found = problems(&attention);
    let product = "scores (MatMul): its second operand's elements are computed, but the machine only multiplies by constants";
    assert!(found.iter().any(|problem| problem == product), "{found:?}");
}

#[test]
fn what_passes_through_is_told_truly() {
    let mut constant = graph(&[1, 4], |g, x| vec![node(g, Relu, &[x], "y")]);
    let c = constant.add_constant("c", image(&[1, 4], 3));
    constant.outputs.push(c);
    assert_eq!(problems(&constant), ["c (output): it is a constant: nothing computes it"]);
    let mut integers = graph(&[1, 4], |g, x| vec![node(g, Reshape { shape: vec![2, 2] }, &[x], "y")]);
    for value in &mut integers.values {
        value.info.element = npukit_numeric::ElementType::I64;
    }
    assert!(problems(&integers)[0].starts_with("x (input): its element type is I64, but must be float"));
}
