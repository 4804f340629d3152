//! Element types: results have values of their type, quantization, and floats widened for
//! accelerators.

use npukit_graph::op::{
    Binary, BinaryKind, Cast, Concat, DequantizeLinear, MatMul, QuantizeLinear, Relu, Transpose,
};
use npukit_graph::{Graph, Op, OpError, Operator, Value, ValueInfo, evaluate, pass};
use npukit_numeric::{ElementError, ElementType, Rounding, Storage, Tensor, TensorData};
use proptest::prelude::*;

use crate::support::{f32s, floats, iota, refuse, run};

/// A vector of elements of a type.
fn of(element: ElementType, values: &[f32]) -> Tensor {
    let data = match element.storage() {
        Storage::F32 => TensorData::F32(values.to_vec()),
        Storage::I64 => TensorData::I64(values.iter().map(|&value| value as i64).collect()),
        Storage::I32 => TensorData::I32(values.iter().map(|&value| value as i32).collect()),
        Storage::Bool => TensorData::Bool(values.iter().map(|&value| value != 0.0).collect()),
    };
    Tensor::new(vec![values.len()], data).unwrap().with_element(element).unwrap()
}

fn shaped(shape: &[usize], tensor: Tensor) -> Tensor {
    let element = tensor.element();
    Tensor::new(shape.to_vec(), tensor.data().clone()).unwrap().with_element(element).unwrap()
}

fn binary(kind: BinaryKind, element: ElementType, left: &[f32], right: &[f32]) -> Tensor {
    run(Binary { kind }, &[&of(element, left), &of(element, right)])
}

/// As NumPy computes in the type itself.
#[test]
fn arithmetic_stays_in_its_type() {
    use BinaryKind::{Add, Div, Mul, Sub};
    use ElementType::{BF16, F16, I8, I16, U8, U16, U32};
    assert_eq!(binary(Add, U8, &[250.0, 1.0], &[10.0, 2.0]), of(U8, &[4.0, 3.0]));
    assert_eq!(binary(Sub, U16, &[1.0], &[2.0]), of(U16, &[65535.0]));
    assert_eq!(binary(Mul, I8, &[100.0], &[3.0]), of(I8, &[44.0]));
    assert_eq!(binary(Div, I8, &[-128.0], &[-1.0]), of(I8, &[-128.0]));
    assert_eq!(binary(Mul, I16, &[-300.0], &[300.0]), of(I16, &[-24464.0]));
    assert_eq!(binary(Sub, U32, &[1.0], &[2.0]), run(Cast::new(U32), &[&of(ElementType::I64, &[-1.0])]));
    assert_eq!(binary(Add, F16, &[60000.0, 0.1], &[60000.0, 0.2]), of(F16, &[f32::INFINITY, 0.299_804_7]));
    assert_eq!(binary(Mul, BF16, &[1.007_812_5], &[1.007_812_5]), of(BF16, &[1.015_625]));
}

#[test]
fn unsigned_results_beyond_the_signed_range_are_refused() {
    let (one, two) = (of(ElementType::U64, &[1.0]), of(ElementType::U64, &[2.0]));
    let refused = refuse(Binary { kind: BinaryKind::Sub }, &[&one, &two]);
    let error = ElementError::TooBig { position: 0, value: u64::MAX };
    assert_eq!(refused, OpError::Element { op: "Sub", error });
}

#[test]
fn operators_keep_and_check_types() {
    let x = of(ElementType::F16, &[0.1, -0.1]);
    assert_eq!(run(Relu, &[&x]).element(), ElementType::F16);
    let matrix = shaped(&[1, 2], x.clone());
    assert_eq!(run(Transpose { perm: vec![1, 0] }, &[&matrix]).element(), ElementType::F16);
    let column = shaped(&[2, 1], x.clone());
    assert_eq!(run(MatMul, &[&matrix, &column]), shaped(&[1, 1], of(ElementType::F16, &[0.019_989_014])));
    let narrow = of(ElementType::I4, &[-8.0, 7.0]);
    assert_eq!(run(Concat { axis: 0 }, &[&narrow, &narrow]), of(ElementType::I4, &[-8.0, 7.0, -8.0, 7.0]));
    assert!(matches!(refuse(MatMul, &[&matrix, &f32s(&[2, 1], &[1.0, 1.0])]), OpError::ElementType { .. }));
    assert!(matches!(
        refuse(Binary { kind: BinaryKind::Add }, &[&narrow, &narrow]),
        OpError::ElementType { .. }
    ));
    let none = Tensor::new(vec![0], TensorData::F32(vec![])).unwrap().with_element(ElementType::F16).unwrap();
    assert_eq!(run(Relu, &[&none]).element(), ElementType::F16);
}

#[test]
fn casts_saturate_and_round_as_told() {
    let cast = |to, saturate, rounding| Cast { to, saturate, rounding };
    let x = f32s(&[3], &[500.0, 3.0, -1e9]);
    let saturated = run(cast(ElementType::F8E4M3FN, true, Rounding::Up), &[&x]);
    assert_eq!(floats(&saturated), [448.0, 3.0, -448.0]);
    let open = run(cast(ElementType::F8E4M3FN, false, Rounding::Up), &[&x]);
    assert!(floats(&open)[0].is_nan() && floats(&open)[2].is_nan());
    let power = |rounding| floats(&run(cast(ElementType::F8E8M0, true, rounding), &[&f32s(&[1], &[2.9])]))[0];
    assert_eq!([Rounding::Up, Rounding::Down, Rounding::Nearest].map(power), [4.0, 2.0, 2.0]);
    assert_eq!(
        run(Cast::new(ElementType::U8), &[&of(ElementType::I64, &[-1.0, 300.0])]),
        of(ElementType::U8, &[255.0, 44.0])
    );
    assert_eq!(
        run(Cast::new(ElementType::F16), &[&f32s(&[1], &[1e9])]),
        of(ElementType::F16, &[f32::INFINITY])
    );
}

fn quantize(to: ElementType, axis: usize, block: usize) -> QuantizeLinear {
    QuantizeLinear { to, axis, block, saturate: true, precision: ElementType::F32, away: false }
}

#[test]
fn quantization_rounds_to_even_and_saturates() {
    let x = f32s(&[6], &[0.0, 2.0, 3.0, 1000.0, -254.0, -1000.0]);
    let (scale, zero) = (f32s(&[], &[2.0]), shaped(&[], of(ElementType::U8, &[128.0])));
    let quantized = run(quantize(ElementType::U8, 0, 0), &[&x, &scale, &zero]);
    assert_eq!(quantized, of(ElementType::U8, &[128.0, 129.0, 130.0, 255.0, 1.0, 0.0]));
    let dequantize = DequantizeLinear { to: ElementType::F32, axis: 0, block: 0 };
    assert_eq!(
        floats(&run(dequantize, &[&quantized, &scale, &zero])),
        [0.0, 2.0, 4.0, 254.0, -254.0, -256.0]
    );
}

#[test]
fn scales_are_for_an_axis_or_a_block() {
    let x = shaped(&[2, 3], of(ElementType::I8, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let dequantize = |axis, block| DequantizeLinear { to: ElementType::F32, axis, block };
    let rows = run(dequantize(0, 0), &[&x, &f32s(&[2], &[1.0, 10.0])]);
    assert_eq!(floats(&rows), [1.0, 2.0, 3.0, 40.0, 50.0, 60.0]);
    let columns = run(dequantize(1, 0), &[&x, &f32s(&[3], &[1.0, 10.0, 100.0])]);
    assert_eq!(floats(&columns), [1.0, 20.0, 300.0, 4.0, 50.0, 600.0]);
    let blocks = run(dequantize(1, 2), &[&x, &f32s(&[2, 2], &[1.0, 10.0, 100.0, 1000.0])]);
    assert_eq!(floats(&blocks), [1.0, 2.0, 30.0, 400.0, 500.0, 6000.0]);
    let rows_in_blocks = run(dequantize(0, 2), &[&x, &f32s(&[1, 3], &[1.0, 10.0, 100.0])]);
    assert_eq!(floats(&rows_in_blocks), [1.0, 20.0, 300.0, 4.0, 50.0, 600.0]);
    // Two rows of five indices in blocks of three, with two elements per index.
    let (many, scales) = (shaped(&[2, 5, 2], of(ElementType::I8, &[1.0; 20])), iota(&[2, 2, 2]));
    let index = |i: usize| i / 10 * 4 + i / 2 % 5 / 3 * 2 + i % 2;
    assert_eq!(
        floats(&run(dequantize(1, 3), &[&many, &scales])),
        (0..20).map(|i| index(i) as f32).collect::<Vec<_>>()
    );
    assert!(matches!(refuse(dequantize(1, 0), &[&x, &f32s(&[2], &[1.0; 2])]), OpError::Shapes { .. }));
    assert!(matches!(refuse(dequantize(1, 2), &[&x, &f32s(&[2, 3], &[1.0; 6])]), OpError::Shapes { .. }));
    assert!(matches!(refuse(dequantize(2, 0), &[&x, &f32s(&[3], &[1.0; 3])]), OpError::Axis { .. }));
}

/// Half floats as inputs, 32-bit floats throughout: the values differ by no more than the rounding
/// of halves.
#[test]
fn accelerators_compute_in_single_precision() {
    let info = ValueInfo { shape: vec![1, 2], element: ElementType::F16 };
    let mut graph = Graph::default();
    let x = graph.add_input("x", info);
    let weights = graph.add_constant("w", shaped(&[2, 2], of(ElementType::F16, &[0.1, 0.2, 0.3, 0.4])));
    let product = graph.add_node("product", MatMul.into(), vec![x, weights], &["p"]).unwrap()[0];
    let wide = graph.add_node("wide", Cast::new(ElementType::F64).into(), vec![product], &["d"]).unwrap()[0];
    let y = graph.add_node("y", Cast::new(ElementType::BF16).into(), vec![wide], &["y"]).unwrap()[0];
    graph.outputs.push(y);
    let input = shaped(&[1, 2], of(ElementType::F16, &[0.7, -0.3]));
    let exact = evaluate(&graph, std::slice::from_ref(&input)).unwrap();
    assert_eq!(exact[0].element(), ElementType::BF16);
    pass::simplify(&mut graph).unwrap();
    assert!(graph.values.iter().all(|value| value.info.element == ElementType::F32));
    assert_eq!(graph.nodes.len(), 1, "conversions are gone");
    let wide = evaluate(&graph, &[input.with_element(ElementType::F32).unwrap()]).unwrap();
    for (wide, exact) in floats(&wide[0]).iter().zip(floats(&exact[0])) {
        assert!((wide - exact).abs() < 1e-3, "{wide} {exact}");
    }
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..4usize, 1 => prop::sample::select(vec![1usize << 40, usize::MAX])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Extreme attributes and shapes are refused; if inference succeeds, so does evaluation.
    #[test]
    fn absurd_quantization_never_panics(
        element in prop::sample::select(&ElementType::ALL[..]),
        scale in prop::sample::select(&ElementType::ALL[..]),
        to in prop::sample::select(&ElementType::ALL[..]),
        (axis, block) in (size(), size()),
        shapes in prop::collection::vec(prop::collection::vec(size(), 0..4), 2..4),
    ) {
        let ops: [Op; 2] = [quantize(to, axis, block).into(), DequantizeLinear { to, axis, block }.into()];
        for op in ops {
            let elements = [element, scale, if op.name() == "QuantizeLinear" { to } else { element }];
            let value = |(shape, element): (&Vec<usize>, ElementType)| {
                let info = ValueInfo { shape: shape.clone(), element };
                Value { name: String::new(), info, constant: None }
            };
            let values: Vec<Value> = shapes.iter().zip(elements).map(value).collect();
            let Ok(infos) = op.infer(&values.iter().collect::<Vec<_>>()) else { continue };
            let count = |shape: &[usize]| shape.iter().product::<usize>();
            let tensor = |value: &Value| shaped(&value.info.shape, of(value.info.element, &vec![1.0; count(&value.info.shape)]));
            let tensors: Vec<Tensor> = values.iter().map(tensor).collect();
            let results = op.eval(&tensors.iter().collect::<Vec<_>>()).unwrap();
            prop_assert_eq!(results[0].element(), infos[0].element);
            prop_assert_eq!(results[0].shape(), &infos[0].shape[..]);
        }
    }

    /// Values of a type survive quantization with scale 1, and the way back.
    #[test]
    fn integers_come_back(values in prop::collection::vec(-40000i32..70000, 1..8), which in 0..8usize) {
        let to = [ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16, ElementType::I4,
            ElementType::U4, ElementType::I2, ElementType::U2][which];
        let (least, largest) = to.integer_range().unwrap();
        let clamped: Vec<f32> = values.iter().map(|&value| i64::from(value).clamp(least, largest) as f32).collect();
        let x = f32s(&[values.len()], &values.iter().map(|&value| value as f32).collect::<Vec<_>>());
        let scale = f32s(&[], &[1.0]);
        let quantized = run(quantize(to, 0, 0), &[&x, &scale]);
        prop_assert_eq!(&quantized, &of(to, &clamped));
        let back = run(DequantizeLinear { to: ElementType::F32, axis: 0, block: 0 }, &[&quantized, &scale]);
        prop_assert_eq!(floats(&back), &clamped[..]);
    }
}
