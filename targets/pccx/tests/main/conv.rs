//! Convolutions: products of patches that the host lays out.

use npukit_graph::op::{Conv, ConvTranspose, Window};
use npukit_graph::{ValueId, evaluate};
use npukit_numeric::Tensor;
use npukit_pccx::Config;
use npukit_pccx::internals::host::{HostStep, lay_out};
use npukit_pccx::internals::lower::{LowerError, Options, Weights, compile};

use crate::net::{Net, PRODUCT, compiled, instances, reasons, run, steps};

const PLAIN: Conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [0; 4], group: 1 };

/// Returns weights `[kh, kw, ci, co]` that 4 bits represent exactly: each output's largest is 7
/// times its scale.
fn weights(net: &mut Net, [kh, kw, ci, co]: [usize; 4]) -> ValueId {
    let count = kh * kw * ci * co;
    let noise = net.noise(count);
    let code = |i: usize| if i < co { 7.0 } else { (7.0 * noise[i]).round() };
    net.constant(&[kh, kw, ci, co], (0..count).map(|i| code(i) / 32.0).collect())
}

/// All attributes, compared with the evaluator; the host only lays out patches.
#[test]
fn convolutions_are_products() {
    for (what, conv, x, kernel) in [
        ("3 x 3", Conv { pads: [1; 4], ..PLAIN }, [1, 6, 5, 8], [3, 3, 8, 16]),
        ("channels that are not words", Conv { pads: [1, 0, 0, 1], ..PLAIN }, [2, 5, 5, 3], [3, 2, 3, 5]),
        ("strides", Conv { strides: [2, 3], pads: [0, 1, 2, 1], ..PLAIN }, [1, 9, 9, 4], [3, 3, 4, 8]),
        ("dilations", Conv { dilations: [2, 3], pads: [2; 4], ..PLAIN }, [1, 8, 9, 8], [3, 3, 8, 8]),
        ("a patch embedding", Conv { strides: [4, 4], ..PLAIN }, [1, 8, 12, 3], [4, 4, 3, 24]),
        ("single pixels", PLAIN, [1, 4, 4, 16], [1, 1, 16, 8]),
        ("single pixels, some of them", Conv { strides: [2, 2], ..PLAIN }, [1, 5, 5, 16], [1, 1, 16, 8]),
        ("two groups", Conv { group: 2, pads: [1; 4], ..PLAIN }, [1, 4, 4, 8], [3, 3, 4, 6]),
        ("a filter a channel", Conv { group: 8, pads: [1; 4], ..PLAIN }, [1, 5, 5, 8], [3, 3, 1, 8]),
        ("two filters a channel", Conv { group: 4, ..PLAIN }, [1, 3, 3, 4], [3, 3, 1, 8]),
    ] {
        for biased in [false, true] {
            for config in instances() {
                let mut net = Net::new();
                let (input, kernel_values) = (net.input(&x), weights(&mut net, kernel));
                let operands = match biased {
                    true => vec![input, kernel_values, net.random(&[kernel[3]])],
                    false => vec![input, kernel_values],
                };
                let y = net.op(conv.clone(), &operands);
                let found = run(&mut net, &config, &[y]);
                assert!(found.error < PRODUCT, "{what}, biased {biased}: {}", found.error);
                assert_eq!(found.hosts, 0, "{what}");
            }
        }
    }
}

/// The host's contribution to a convolution, and to a 1 x 1 convolution.
#[test]
fn patches_are_the_hosts() {
    let [config, _] = instances();
    let count = |conv: Conv, kernel: [usize; 4]| {
        let executable = compiled(&config, &Options::of(&config), |net| {
            let (x, w) = (net.input(&[1, 4, 4, 8]), weights(net, kernel));
            vec![net.op(conv.clone(), &[x, w])]
        });
        let patches = |step: &(u32, HostStep)| matches!(step.1, HostStep::Patches { .. });
        let number = executable.host.layers.iter().filter(|layer| layer.help.is_some()).count();
        assert_eq!(steps(&executable).iter().filter(|step| patches(step)).count(), number);
        number
    };
    assert_eq!(count(PLAIN, [1, 1, 8, 8]), 0);
    assert_eq!(count(PLAIN, [2, 2, 8, 8]), 1);
}

/// Computed with pen and paper: two taps of a row of three pixels of two channels, followed by a
/// column of zeros.
#[test]
fn patches_lie_tap_by_tap() {
    let window = Window { pads: [0, 0, 0, 1], ..Window::plain([1, 2], [1, 1]) };
    let image = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let found = lay_out(&image, [1, 1, 3, 2], &window, 5).unwrap();
    let expected = [[1.0, 2.0, 3.0, 4.0, 0.0], [3.0, 4.0, 5.0, 6.0, 0.0], [5.0, 6.0, 0.0, 0.0, 0.0]];
    assert_eq!(found, expected.concat());
    assert_eq!(lay_out(&image, [1, 1, 3, 2], &window, 3), None, "rows that are too short");
    assert_eq!(lay_out(&image, [1, 1, 3, 2], &Window::plain([2, 2], [1, 1]), 8), None, "no place");
    assert_eq!(lay_out(&image, [1, 1, 4, 2], &window, 4), None, "too few values");
}

/// Patches with more rows than L2 are processed in parts, with the same results.
#[test]
fn patches_that_do_not_fit_go_in_parts() {
    let values = |words: u32| {
        let mut net = Net::new();
        let (x, w) = (net.input(&[1, 12, 12, 8]), weights(&mut net, [3, 3, 8, 16]));
        let bias = net.random(&[16]);
        net.graph.outputs = vec![net.op(Conv { pads: [1; 4], ..PLAIN }, &[x, w, bias])];
        let config = Config { l2_words: words, ..Config::preset("reference").unwrap() };
        let executable = compile(&config, &net.graph, &Options::of(&config), &mut Weights::default())?;
        let input = Tensor::from_f32(vec![1, 12, 12, 8], net.noise(1152)).unwrap();
        let found = crate::twice::run(&config, &executable, std::slice::from_ref(&input));
        assert!(evaluate(&net.graph, &[input]).is_ok());
        let parts = |step: &(u32, HostStep)| matches!(step.1, HostStep::Part { .. });
        Ok::<_, LowerError>((found, steps(&executable).iter().filter(|step| parts(step)).count()))
    };
    let (whole, parts) = values(114_688).unwrap();
    assert_eq!(parts, 0);
    // 144 rows of 72 and 16 values: 1,584 words.
    for (words, parts) in [(1700, 0), (1600, 2), (200, 18)] {
        assert_eq!(values(words), Ok((whole.clone(), parts)), "{words}");
    }
    assert!(matches!(values(50), Err(LowerError::L2Full { .. })));
}

#[test]
fn other_convolutions_are_the_hosts() {
    let [config, _] = instances();
    let found = compiled(&config, &Options::of(&config), |net| {
        let (x, w, moving) = (net.input(&[1, 4, 4, 8]), net.random(&[2, 2, 8, 8]), net.input(&[2, 2, 8, 8]));
        let transposed = ConvTranspose {
            strides: [1, 1],
            dilations: [1, 1],
            pads: [0; 4],
            output_padding: [0, 0],
            group: 1,
        };
        vec![net.op(PLAIN, &[x, moving]), net.op(transposed, &[x, w])]
    });
    let expected =
        [("Conv", "the weights are not constant"), ("ConvTranspose", "not supported by the machine")];
    assert_eq!(reasons(&found), expected);
}
