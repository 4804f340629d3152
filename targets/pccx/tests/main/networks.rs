//! Image networks on a machine for language models: their products run on it, the rest on the host.

use npukit_graph::{Graph, evaluate, pass};
use npukit_import::onnx;
use npukit_numeric::{Tensor, npy};
use npukit_pccx::Config;
use npukit_pccx::internals::lower::{Activations, Options, Weights, compile};
use npukit_testing::{needs, shared_bytes};

use crate::twice;

fn model(name: &str) -> Graph {
    let bytes = shared_bytes(&format!("models/{name}"));
    let mut graph = onnx::read(&bytes, "model", &onnx::Options::default()).unwrap().graph;
    pass::simplify(&mut graph).unwrap();
    graph
}

fn largest(values: &[f32]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Ten images with 4-bit weights, without training for them.
#[needs(NPUKIT_SHARED)]
#[test]
fn resnet20_runs_with_weights_of_4_bits() {
    let graph = model("resnet20v2_cifar.onnx");
    let images = npy::read_npy("images", &shared_bytes("models/cifar10_inputs.npy")).unwrap();
    let size: usize = images.shape()[1..].iter().product();
    let config = Config::preset("reference").unwrap();
    for (activations, least) in [(Activations::Bits8, 8), (Activations::Bits16, 8)] {
        let options = Options { activations, ..Options::of(&config) };
        let executable = compile(&config, &graph, &options, &mut Weights::default()).unwrap();
        let host: u64 =
            executable.host.layers.iter().filter(|layer| layer.host.is_some()).map(|layer| layer.macs).sum();
        let macs: u64 = executable.host.layers.iter().map(|layer| layer.macs).sum();
        assert_eq!((host, macs), (0, graph.macs()), "every product is the machine's");
        let mut right = 0;
        for image in images.as_f32().unwrap().chunks(size) {
            let input = Tensor::from_f32(graph.shape(graph.inputs[0]).to_vec(), image.to_vec()).unwrap();
            let float = evaluate(&graph, std::slice::from_ref(&input)).unwrap();
            let found = twice::run(&config, &executable, &[input]);
            let class = |tensors: &[Tensor]| largest(tensors[0].as_f32().unwrap());
            right += usize::from(class(&found) == class(&float));
        }
        println!(
            "{activations:?}: {right} of 10 as in float, {} instructions",
            executable.program.code.len()
        );
        assert!(right >= least, "{right}");
    }
}
