//! Validation, order, printing and counting.

use npukit_graph::op::{Conv, Relu, Split};
use npukit_graph::{Graph, GraphError, OpError, QdqScales, ValueId, ValueInfo};
use npukit_numeric::ElementType;

use crate::support::noise;

/// A 3x3 convolution with a border of zeros, and a rectifier.
fn image() -> Graph {
    let mut graph = Graph { name: "image".to_owned(), ..Graph::default() };
    let info = ValueInfo { shape: vec![1, 4, 4, 2], element: ElementType::F32 };
    let x = graph.add_input("x", info);
    let weights = graph.add_constant("w", noise(&[3, 3, 2, 5], 1));
    let conv = Conv { strides: [1, 1], dilations: [1, 1], pads: [1; 4], group: 1 };
    let y = graph.add_node("conv", conv.into(), vec![x, weights], &["y"]).unwrap();
    graph.outputs = graph.add_node("relu", Relu.into(), y, &["z"]).unwrap();
    graph
}

#[test]
fn prints_one_line_each() {
    let expected = "\
graph image
  input  x: f32[1,4,4,2]
  const  w: f32[3,3,2,5]
  y: f32[1,4,4,5] = Conv { strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1], group: 1 }\
(x: f32[1,4,4,2], w: f32[3,3,2,5])  # conv
  z: f32[1,4,4,5] = Relu(y: f32[1,4,4,5])  # relu
  output z: f32[1,4,4,5]
";
    assert_eq!(image().to_string(), expected);
}

#[test]
fn counts_products_that_fall_on_the_image() {
    // Along each axis 4 windows of 3 taps; 2 extend over the border by one: 10 taps.
    assert_eq!(image().macs(), 10 * 10 * 2 * 5);
}

#[test]
fn finds_by_name_and_by_use() {
    let mut graph = image();
    let y = graph.find_value("y").unwrap();
    assert_eq!(graph.producers()[y.0 as usize], graph.find_node("conv"));
    assert_eq!(graph.consumers()[y.0 as usize], [graph.find_node("relu").unwrap()]);
    assert_eq!(graph.fresh_name("y"), "y_2");
}

#[test]
fn validation_names_the_fault() {
    assert_eq!(image().validate(), Ok(()));
    let mut graph = image();
    graph.nodes.swap(0, 1);
    assert!(matches!(graph.validate(), Err(GraphError::NotProduced { user, .. }) if user == "relu"));
    graph.sort_nodes().unwrap();
    assert_eq!(graph.validate(), Ok(()));
    graph.values[2].info.shape[3] = 6;
    let error = graph.validate().unwrap_err();
    assert_eq!(
        error.to_string(),
        "node `conv`: result `y` is recorded as f32[1,4,4,6], but inferred as f32[1,4,4,5]"
    );
    let mut graph = image();
    graph.outputs = vec![ValueId(9)];
    assert!(matches!(graph.validate(), Err(GraphError::UnknownValue { id: 9, count: 4, .. })));
    let mut graph = image();
    graph.nodes[0].inputs[0] = graph.outputs[0];
    assert!(matches!(graph.sort_nodes(), Err(GraphError::Cycle { .. })));
    let mut graph = image();
    graph.values[3].name = "x".to_owned();
    assert!(matches!(graph.validate(), Err(GraphError::DuplicateName { name }) if name == "x"));
    let mut graph = image();
    graph.nodes.push(graph.nodes[1].clone());
    assert!(matches!(graph.validate(), Err(GraphError::ProducedTwice { .. })));
}

#[test]
fn constants_are_what_is_recorded_of_them() {
    for (shape, element, good) in [
        (vec![3, 3, 2, 5], ElementType::F32, true),
        (vec![3, 3, 5, 2], ElementType::F32, false),
        (vec![3, 3, 2, 5], ElementType::F16, false),
    ] {
        let mut graph = image();
        graph.values[1].info = ValueInfo { shape, element };
        let refused = matches!(graph.validate(), Err(GraphError::Constant { value, .. }) if value == "w");
        assert_eq!(refused, !good);
    }
}

#[test]
fn what_nobody_reads_goes_and_the_rest_keeps_its_scales() {
    let mut graph = image();
    let (kept, scale) = (graph.to_string(), |name: &str| QdqScales {
        name: name.to_owned(),
        scales: [0.5; 2],
        zero_points: [0; 2],
        element: ElementType::I8,
    });
    assert!(!graph.remove_dead());
    // An unused chain before the nodes that stay, and an unused constant.
    let x = graph.inputs[0];
    let dead = graph.add_node("dead", Relu.into(), vec![x], &["dead"]).unwrap();
    graph.add_node("deader", Relu.into(), dead.clone(), &["deader"]).unwrap();
    graph.nodes.rotate_right(2);
    graph.values.swap(1, 4);
    let swapped = |id: &mut ValueId| id.0 = [0, 4, 2, 3, 1, 5][id.0 as usize];
    graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs)).for_each(swapped);
    graph.add_constant("spare", noise(&[1], 1));
    graph.validate().unwrap();
    for value in ["x", "w", "y", "z", "dead"] {
        let id = graph.find_value(value).unwrap();
        graph.scales.insert(id, scale(value));
    }
    assert!(graph.remove_dead());
    graph.validate().unwrap();
    assert_eq!((graph.values.len(), graph.nodes.len()), (4, 2));
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(lines(&graph.to_string()), lines(&kept));
    let stated: Vec<_> =
        graph.scales.iter().map(|(&id, stated)| (&graph.value(id).name, &stated.name)).collect();
    assert!(stated.len() == 4 && stated.iter().all(|(value, stated)| value == stated), "{stated:?}");
    assert!(!graph.remove_dead());
}

#[test]
fn every_result_wants_a_name() {
    let mut graph = image();
    let split = Split { axis: 3, sizes: vec![2, 3] };
    let error = graph.add_node("split", split.into(), graph.outputs.clone(), &["one"]).unwrap_err();
    assert_eq!(error, OpError::ResultCount { op: "Split", expected: 2, found: 1 });
}
