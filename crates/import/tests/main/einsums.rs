//! Einsum: the forms that exporters write, and other valid equations. The expected values are those
//! of `numpy.einsum` over `numpy.arange`.

use npukit_graph::Op;
use npukit_import::onnx::Reason;

use crate::model::{Model, With, counting, node};

/// A model of one equation over operands of the given shapes, called a, b, ...
fn model(equation: &str, shapes: &[&[i64]]) -> Model {
    let names = &["a", "b", "c"][..shapes.len()];
    let mut model = Model::new(13);
    for (name, shape) in names.iter().zip(shapes) {
        model = model.input(name, shape);
    }
    model.node(node("Einsum", names, &["y"]).string("equation", equation)).output("y")
}

fn run(equation: &str, shapes: &[&[i64]]) -> (Vec<usize>, Vec<f32>) {
    let sizes = |shape: &&[i64]| shape.iter().map(|&size| size as usize).collect::<Vec<_>>();
    let inputs: Vec<_> = shapes.iter().map(|shape| counting(&sizes(shape))).collect();
    model(equation, shapes).run(&inputs)
}

#[test]
fn a_product_of_matrices_is_one_node() {
    for (equation, shapes) in [
        ("ij,jk->ik", [&[2, 3][..], &[3, 4]]),
        ("bij,bjk->bik", [&[2, 2, 3], &[2, 3, 4]]),
        ("bsd,dh->bsh", [&[2, 5, 3], &[3, 4]]),
        ("...ij,...jk->...ik", [&[2, 2, 3], &[2, 3, 4]]),
    ] {
        let graph = model(equation, &shapes).import().unwrap();
        assert!(matches!(graph.nodes[..], [ref node] if matches!(node.op, Op::MatMul(_))), "{graph}");
    }
}

#[test]
fn products() {
    assert_eq!(run("ij,kj->ik", &[&[2, 2], &[2, 2]]), (vec![2, 2], vec![1.0, 3.0, 3.0, 13.0]));
    assert_eq!(run("i,j->ji", &[&[2], &[3]]), (vec![3, 2], vec![0.0, 0.0, 0.0, 1.0, 0.0, 2.0]));
    assert_eq!(run("bi,bi->bi", &[&[1, 3], &[1, 3]]), (vec![1, 3], vec![0.0, 1.0, 4.0]));
    assert_eq!(run("bi,bi->b", &[&[2, 2], &[2, 2]]), (vec![2], vec![1.0, 13.0]));
    assert_eq!(run("i,i", &[&[3], &[3]]), (vec![], vec![5.0]));
    // Attention scores, with heads in the middle.
    let (shape, scores) = run("bqhd,bkhd->bhqk", &[&[1, 2, 2, 2], &[1, 2, 2, 2]]);
    assert_eq!((shape, scores), (vec![1, 2, 2, 2], vec![1.0, 5.0, 5.0, 41.0, 13.0, 33.0, 33.0, 85.0]));
    // One number per row.
    assert_eq!(run("ij,i->ij", &[&[2, 3], &[2]]), (vec![2, 3], vec![0.0, 0.0, 0.0, 3.0, 4.0, 5.0]));
    assert_eq!(run("i,ij->ij", &[&[2], &[2, 3]]), (vec![2, 3], vec![0.0, 0.0, 0.0, 3.0, 4.0, 5.0]));
    // A label that occurs in one operand only is summed before the product.
    assert_eq!(run("ij,k->k", &[&[2, 2], &[2]]), (vec![2], vec![0.0, 6.0]));
    assert_eq!(run("i,ij,j->", &[&[2], &[2, 2], &[2]]), (vec![], vec![3.0]));
}

#[test]
fn sums_transpositions_and_diagonals() {
    assert_eq!(run("ij->ji", &[&[2, 2]]), (vec![2, 2], vec![0.0, 2.0, 1.0, 3.0]));
    assert_eq!(run("ij->i", &[&[2, 2]]), (vec![2], vec![1.0, 5.0]));
    assert_eq!(run("ij->", &[&[2, 2]]), (vec![], vec![6.0]));
    assert_eq!(run("ii->i", &[&[3, 3]]), (vec![3], vec![0.0, 4.0, 8.0]));
    assert_eq!(run("ii", &[&[3, 3]]), (vec![], vec![12.0]));
    assert_eq!(run("...ii->...i", &[&[2, 2, 2]]), (vec![2, 2], vec![0.0, 3.0, 4.0, 7.0]));
    assert_eq!(run("iji->ji", &[&[2, 2, 2]]), (vec![2, 2], vec![0.0, 5.0, 2.0, 7.0]));
}

#[test]
fn axes_of_size_1_are_repeated() {
    let (shape, values) = run("...i,...i->...", &[&[2, 2], &[1, 2]]);
    assert_eq!((shape, values), (vec![2], vec![1.0, 3.0]));
    assert_eq!(run("ij,ij->j", &[&[2, 1], &[2, 2]]), (vec![2], vec![2.0, 3.0]));
}

#[test]
fn equations_that_make_no_sense_are_refused() {
    for (equation, shapes) in
        [("ij,jk", &[&[2, 3][..]][..]), ("ij->k", &[&[2, 2]]), ("i.j->i", &[&[2, 2]]), ("", &[&[2, 2]])]
    {
        let reason = model(equation, shapes).reason();
        assert!(matches!(reason, Reason::AttributeValue { name: "equation", .. }), "{equation}: {reason}");
    }
    for (equation, shapes) in [("ij,jk", &[&[2, 3][..], &[2, 3]][..]), ("ii", &[&[1, 3]])] {
        let reason = model(equation, shapes).reason();
        assert!(matches!(reason, Reason::OperandValue { operand: "Inputs", .. }), "{equation}: {reason}");
    }
}
