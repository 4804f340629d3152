//! Changed programs: what the machine of bits computes otherwise, the field does, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use npukit_graph::Graph;
use npukit_numeric::Tensor;
use npukit_target::{Compiled, Unset};
use npukit_verify::prove;

use super::{PccxProgram, block, perceptron, ways};
use crate::codec::Codec;
use crate::machine::Machine;
use crate::op::Op;
use crate::runtime::Session;
use crate::weights::WeightImage;

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        let mut next = npukit_sim::garbage(self.0);
        self.0 = next();
        (self.0 >> 11) as usize % count.max(1)
    }
}

/// Outputs on random data, bit by bit; none where the machine faults.
fn bits(program: &PccxProgram, graph: &Graph, seed: u64) -> Option<Vec<Vec<u32>>> {
    let mut next = npukit_sim::garbage(seed);
    let mut input = |&id: &npukit_graph::ValueId| {
        let shape = graph.shape(id).to_vec();
        let count: usize = shape.iter().product();
        let noise = (0..count).map(|_| (next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect();
        Tensor::from_f32(shape, noise).unwrap()
    };
    let inputs: Vec<Tensor> = graph.inputs.iter().map(&mut input).collect();
    let mut machine = Machine::with(&program.config, Unset::Garbage(seed)).unwrap();
    let executable = &program.executable;
    let mut session = Session::new(&mut machine, &executable.program, &executable.host).ok()?;
    let outputs = session.run(&inputs).ok()?;
    let of = |tensor: &Tensor| tensor.as_f32().unwrap().iter().map(|value| value.to_bits()).collect();
    Some(outputs.iter().map(of).collect())
}

/// Another program: what was changed.
fn changed(program: &mut PccxProgram, random: &mut Random) -> Option<&'static str> {
    let codec = Codec::new(&program.config);
    let code = &mut program.executable.program.code;
    let at = random.below(code.len());
    match random.below(8) {
        0..=3 => {
            let word = codec.encode(&code[at]).ok()? ^ 1 << random.below(64);
            let other = codec.decode(word).ok()?;
            (other != code[at]).then(|| code[at] = other)?;
            Some("field")
        }
        4 => {
            (code[at] != Op::Kick).then(|| code[at] = Op::Kick)?;
            Some("dropped")
        }
        5 => {
            let other = random.below(code.len());
            (code[at] != code[other]).then(|| code.swap(at, other))?;
            Some("swapped")
        }
        6 => {
            let steps = &mut program.executable.program.host_ops;
            let step = random.below(steps.len());
            let operand = random.below(steps.get(step)?.operands.len());
            let operand = steps[step].operands.get_mut(operand)?;
            *operand ^= 1 << random.below(4);
            Some("host step")
        }
        _ => {
            let images = &mut program.executable.program.images;
            let number = random.below(images.len());
            let image = WeightImage::clone(images.get(number)?);
            let (n, k) = (image.n(), image.k());
            let mut weights: Vec<i8> = (0..n * k).map(|i| image.weight(i / k, i % k).unwrap()).collect();
            weights[random.below(n * k)] ^= 1;
            let scales = image.scales().map(<[f32]>::to_vec);
            images[number] = Arc::new(WeightImage::new(n, k, &weights, scales).ok()?);
            Some("weight")
        }
    }
}

/// A change that changes a result on some data is found. One that changes none may be found, too.
#[test]
fn changed_programs_are_not_proved() {
    let mut random = Random(7);
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut missed = Vec::new();
    for (name, graph) in [("perceptron", perceptron()), ("block", block())] {
        for (way, config, options) in ways() {
            let original = super::program(&config, &options, &graph);
            if super::proof(&original, &graph).is_none_or(|proof| !proof.is_proved()) {
                continue;
            }
            let expected = [11, 12, 13].map(|seed| bits(&original, &graph, seed));
            for _ in 0..40 {
                let mut other = super::program(&config, &options, &graph);
                let Some(kind) = changed(&mut other, &mut random) else { continue };
                let found = [11, 12, 13].map(|seed| bits(&other, &graph, seed));
                let differs = found != expected;
                let judged = match other.in_field() {
                    Err(_) => "refused",
                    Ok(field) => match prove(&graph, &*field, &[1]) {
                        Err(_) => "fault",
                        Ok(proof) if proof.is_proved() => "proved",
                        Ok(_) => "differs",
                    },
                };
                let results = if differs { "another result" } else { "the same results" };
                *counts.entry((results, judged)).or_default() += 1;
                if differs && judged == "proved" {
                    missed.push(format!("{name} on {way}: {kind}, {:?}", difference(&original, &other)));
                }
            }
        }
    }
    println!("{counts:#?}");
    assert!(counts.values().sum::<usize>() >= 200, "{counts:?}");
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The first instruction that is another one.
fn difference(left: &PccxProgram, right: &PccxProgram) -> Option<(usize, Op, Op)> {
    let pairs = left.executable.program.code.iter().zip(&right.executable.program.code).enumerate();
    pairs.filter(|(_, (left, right))| left != right).map(|(i, (&left, &right))| (i, left, right)).next()
}
