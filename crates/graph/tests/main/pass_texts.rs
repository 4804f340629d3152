//! `tests/passes/graph`: for every pass, small graphs before and after it, as text.
//! `NPUKIT_BLESS=1` writes the files.
//!
//! Each pass has a graph that it changes, and a similar graph that it leaves unchanged.

#[path = "pass_texts/arithmetic.rs"]
mod arithmetic;
#[path = "pass_texts/axes.rs"]
mod axes;
#[path = "pass_texts/forms.rs"]
mod forms;

use npukit_graph::op::{Reshape, Transpose};
use npukit_graph::pass::passes;
use npukit_graph::{Graph, ValueId};
use npukit_shared::{Rewritten, expect_rewritten};

use crate::near_misses::after;
use crate::support::{Net, f32s};

/// A graph before a pass.
struct Example {
    title: &'static str,
    net: Net,
    /// Whether the pass changes it.
    changes: bool,
}

/// A graph that the pass rewrites; `build` returns its output.
fn works(title: &'static str, build: impl FnOnce(&mut Net) -> ValueId) -> Example {
    let mut net = Net::default();
    net.graph.name = "example".to_owned();
    let output = build(&mut net);
    Example { title, net: net.giving(output), changes: true }
}

/// A graph that the pass leaves unchanged.
fn stays(title: &'static str, build: impl FnOnce(&mut Net) -> ValueId) -> Example {
    Example { changes: false, ..works(title, build) }
}

impl Example {
    /// Adds more outputs.
    fn giving_also(mut self, outputs: &[ValueId]) -> Self {
        self.net.graph.outputs.extend(outputs);
        self
    }
}

/// Operators with few or no attributes, in one line.
impl Net {
    fn ones(&mut self, shape: &[usize]) -> ValueId {
        let elements = shape.iter().product();
        self.input(f32s(shape, &vec![1.0; elements]))
    }

    /// 1, 2, 3, ...
    fn count(&mut self, shape: &[usize]) -> ValueId {
        let elements: usize = shape.iter().product();
        let numbers: Vec<f32> = (1..=elements).map(|i| i as f32).collect();
        self.constant(f32s(shape, &numbers))
    }

    fn number(&mut self, number: f32) -> ValueId {
        self.constant(f32s(&[], &[number]))
    }

    fn transpose(&mut self, perm: &[usize], x: ValueId) -> ValueId {
        self.node(Transpose { perm: perm.to_vec() }, &[x])
    }

    fn reshape(&mut self, shape: &[usize], x: ValueId) -> ValueId {
        self.node(Reshape { shape: shape.to_vec() }, &[x])
    }
}

/// Returns the examples of a pass.
fn examples(pass: &str) -> Vec<Example> {
    match pass {
        "single-precision" => arithmetic::single_precision(),
        "dead-nodes" => arithmetic::dead_nodes(),
        "constant-folding" => arithmetic::constant_folding(),
        "identities" => axes::identities(),
        "duplicates" => arithmetic::duplicates(),
        "nan-guards" => arithmetic::nan_guards(),
        "rotary-forms" => forms::rotary_forms(),
        "shared-heads" => forms::shared_heads(),
        "transpose-fusion" => axes::transpose_fusion(),
        "transpose-crossing" => axes::transpose_crossing(),
        "reduce-crossing" => axes::reduce_crossing(),
        "flatten-weights" => axes::flatten_weights(),
        "transpose-sinking" => axes::transpose_sinking(),
        "reshape-sinking" => axes::reshape_sinking(),
        "softmax-last" => axes::softmax_last(),
        "gemm-form" => arithmetic::gemm_form(),
        "activation-forms" => forms::activation_forms(),
        "softmax-forms" => forms::softmax_forms(),
        "variance-forms" => forms::variance_forms(),
        "normalization-forms" => forms::normalization_forms(),
        "batch-norm-folding" => arithmetic::batch_norm_folding(),
        "affine-merging" => arithmetic::affine_merging(),
        "pad-merging" => axes::pad_merging(),
        "trivial-transposes" => axes::trivial_transposes(),
        _ => panic!("pass `{pass}` has no examples"),
    }
}

/// The printed graph, with the elements of small constants.
fn text(graph: &Graph) -> String {
    let elements = |line: &str| {
        let name = line.strip_prefix("  const  ")?.split_once(':')?.0;
        let value = graph.values.iter().find(|value| value.name == name)?;
        let elements = value.constant.as_ref()?.as_f32()?;
        (elements.len() <= 16).then(|| format!(" = {elements:?}"))
    };
    let line = |line: &str| format!("{line}{}\n", elements(line).unwrap_or_default());
    graph.to_string().lines().map(line).collect()
}

#[test]
fn every_pass_before_and_after() {
    let mut wrong = Vec::new();
    for pass in passes() {
        let mut texts = Vec::new();
        let examples = examples(pass.name);
        for changes in [true, false] {
            assert!(
                examples.iter().any(|e| e.changes == changes),
                "{}: none with changes: {changes}",
                pass.name
            );
        }
        for Example { title, net, changes } in examples {
            let (before, after) = (text(&net.graph), text(&after(pass.name, &net)));
            if (before != after) != changes {
                wrong.push(format!("{}, {title}:\n{before}{after}", pass.name));
            }
            texts.push(Rewritten { title, before, after });
        }
        let headline = format!("Pass {}: {}.", pass.name, pass.description);
        expect_rewritten(&format!("passes/graph/{}.txt", pass.name), &headline, &texts);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
