//! Nodes of the random networks.

use npukit_import::onnx::proto::data_type::{BOOL, FLOAT, INT64};

use super::graphs::{Builder, Value, int, ints, real};

/// Maximum number of elements of a result.
pub const MOST: usize = 600;

/// Function that adds a node to a network; returns `None` if no value fits.
type Kind = fn(&mut Builder) -> Option<()>;

/// Nodes of floats; more frequent ones are listed several times.
const OF_FLOATS: &[Kind] = &[
    product,
    product,
    product,
    product,
    dense,
    convolution,
    convolution,
    pool,
    function,
    function,
    rectified,
    rectified,
    with_constant,
    with_constant,
    pair,
    pad,
    pad,
    transpose,
    reshape,
    reshape,
    slice,
    concat,
    reduced,
    normalized,
    softmax,
    identity,
    clip,
];

/// Nodes that compute or take other types.
const OF_OTHERS: &[Kind] = &[compared, chosen, chosen, cast, largest, gather, gather];

/// Adds a random node, if a value fits. With `all_types`, it may use types other than floats.
pub fn add(builder: &mut Builder, all_types: bool) {
    let kinds = if all_types && builder.once_in(4) { OF_OTHERS } else { OF_FLOATS };
    let kind = builder.pick(kinds);
    let before = builder.values.len();
    kind(builder);
    // Keeps results small enough for later nodes.
    if builder.values[before..].iter().any(|value| value.len() > MOST) {
        builder.values.retain(|value| value.len() <= MOST);
    }
}

fn float(builder: &mut Builder, ranks: std::ops::RangeInclusive<usize>) -> Option<Value> {
    builder.value(|value| value.is_float() && ranks.contains(&value.shape.len()))
}

fn product(b: &mut Builder) -> Option<()> {
    let x = float(b, 1..=5)?;
    let (inner, columns) = (*x.shape.last()?, b.pick(&[1, 3, 5, 8, 12, 16]));
    let w = b.floats(&[inner, columns]);
    let mut shape = x.shape.clone();
    *shape.last_mut()? = columns;
    b.node("MatMul", &[&x, &w], vec![], &shape, FLOAT);
    Some(())
}

fn dense(b: &mut Builder) -> Option<()> {
    let x = float(b, 2..=2)?;
    let columns = b.pick(&[1, 2, 7, 9]);
    let (w, bias) = (b.floats(&[columns, x.shape[1]]), b.floats(&[columns]));
    b.node("Gemm", &[&x, &w, &bias], vec![int("transB", 1)], &[x.shape[0], columns], FLOAT);
    Some(())
}

fn convolution(b: &mut Builder) -> Option<()> {
    let x = float(b, 4..=4)?;
    let (kernel, filters) = (b.pick(&[1, 3]), b.pick(&[1, 2, 5]));
    let w = b.floats(&[filters, x.shape[1], kernel, kernel]);
    let pads = ints("pads", &[kernel / 2; 4]);
    let shape = [x.shape[0], filters, x.shape[2], x.shape[3]];
    if b.once_in(2) {
        let bias = b.floats(&[filters]);
        b.node("Conv", &[&x, &w, &bias], vec![pads], &shape, FLOAT);
    } else {
        b.node("Conv", &[&x, &w], vec![pads], &shape, FLOAT);
    }
    Some(())
}

fn pool(b: &mut Builder) -> Option<()> {
    let x = float(b, 4..=4)?;
    if b.once_in(2) {
        b.node("GlobalAveragePool", &[&x], vec![], &[x.shape[0], x.shape[1], 1, 1], FLOAT);
        return Some(());
    }
    let shape = [x.shape[0], x.shape[1], (x.shape[2] / 2), (x.shape[3] / 2)];
    if shape.contains(&0) {
        return None;
    }
    let op = b.pick(&["MaxPool", "AveragePool"]);
    b.node(op, &[&x], vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])], &shape, FLOAT);
    Some(())
}

fn function(b: &mut Builder) -> Option<()> {
    let x = float(b, 0..=5)?;
    let op = b.pick(&[
        "Sigmoid",
        "Tanh",
        "Exp",
        "Log",
        "Sqrt",
        "Abs",
        "Neg",
        "Erf",
        "Reciprocal",
        "Softplus",
        "HardSigmoid",
    ]);
    b.node(op, &[&x], vec![], &x.shape.clone(), FLOAT);
    Some(())
}

fn rectified(b: &mut Builder) -> Option<()> {
    let x = float(b, 0..=5)?;
    let alpha = b.pick(&[0.125, 0.01, 1.0, f32::INFINITY, f32::NAN]);
    let (op, attributes) = match b.below(4) {
        0 => ("LeakyRelu", vec![real("alpha", alpha)]),
        1 => ("Elu", vec![real("alpha", alpha)]),
        _ => ("Relu", vec![]),
    };
    b.node(op, &[&x], attributes, &x.shape.clone(), FLOAT);
    Some(())
}

fn with_constant(b: &mut Builder) -> Option<()> {
    let x = float(b, 0..=5)?;
    let op = b.pick(&["Add", "Mul", "Sub", "Div", "Max", "Min", "Pow"]);
    let c = match b.below(3) {
        0 => {
            let value = b.pick(&[0.5, 2.0, 0.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN]);
            b.float(value)
        }
        1 => b.floats(&x.shape.clone()),
        _ => b.floats(&x.shape[x.shape.len().saturating_sub(1)..]),
    };
    b.node(op, &[&x, &c], vec![], &x.shape.clone(), FLOAT);
    Some(())
}

fn pair(b: &mut Builder) -> Option<()> {
    let x = float(b, 0..=5)?;
    let y = b.value(|value| value.is_float() && value.shape == x.shape)?;
    let op = b.pick(&["Add", "Mul", "Sub", "Div", "Max"]);
    b.node(op, &[&x, &y], vec![], &x.shape.clone(), FLOAT);
    Some(())
}

fn pad(b: &mut Builder) -> Option<()> {
    let x = float(b, 1..=5)?;
    let pads: Vec<i64> = (0..2 * x.shape.len()).map(|_| b.pick(&[0, 0, 0, 1, 2])).collect();
    let (before, after) = pads.split_at(x.shape.len());
    let grown = x.shape.iter().zip(before.iter().zip(after));
    let shape: Vec<usize> = grown.map(|(size, (before, after))| size + (before + after) as usize).collect();
    let value = b.pick(&[0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN]);
    let (pads, value) = (b.integers(&pads), b.float(value));
    b.node("Pad", &[&x, &pads, &value], vec![], &shape, FLOAT);
    Some(())
}

fn transpose(b: &mut Builder) -> Option<()> {
    let x = b.value(|value| value.shape.len() > 1)?;
    let mut perm: Vec<usize> = (0..x.shape.len()).collect();
    for place in (1..perm.len()).rev() {
        let other = b.below(place + 1);
        perm.swap(place, other);
    }
    let shape: Vec<usize> = perm.iter().map(|&axis| x.shape[axis]).collect();
    b.node("Transpose", &[&x], vec![ints("perm", &perm)], &shape, x.element);
    Some(())
}

fn reshape(b: &mut Builder) -> Option<()> {
    let x = b.value(|_| true)?;
    let mut shape = x.shape.clone();
    match b.below(4) {
        0 => shape = vec![x.len()],
        1 if shape.len() < 5 => shape.insert(b.below(shape.len() + 1), 1),
        2 if shape.len() > 1 => {
            let place = b.below(shape.len() - 1);
            let size = shape.remove(place);
            shape[place] *= size;
        }
        _ => shape.retain(|&size| size != 1),
    }
    let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
    let to = b.integers(&sizes);
    b.node("Reshape", &[&x, &to], vec![], &shape, x.element);
    Some(())
}

fn slice(b: &mut Builder) -> Option<()> {
    let x = b.value(|value| value.shape.iter().any(|&size| size > 1))?;
    let axis = x.shape.iter().position(|&size| size > 1)?;
    let start = b.below(x.shape[axis]);
    let mut shape = x.shape.clone();
    shape[axis] -= start;
    let [starts, ends, axes] = [start, x.shape[axis], axis].map(|number| b.integers(&[number as i64]));
    b.node("Slice", &[&x, &starts, &ends, &axes], vec![], &shape, x.element);
    Some(())
}

fn concat(b: &mut Builder) -> Option<()> {
    let x = float(b, 1..=5)?;
    let y = b.value(|value| value.is_float() && value.shape == x.shape)?;
    let axis = b.below(x.shape.len());
    let mut shape = x.shape.clone();
    shape[axis] *= 2;
    b.node("Concat", &[&x, &y], vec![int("axis", axis as i64)], &shape, FLOAT);
    Some(())
}

fn compared(b: &mut Builder) -> Option<()> {
    let x = float(b, 0..=5)?;
    let c = b.float(0.25);
    let op = b.pick(&["Greater", "LessOrEqual", "Equal"]);
    b.node(op, &[&x, &c], vec![], &x.shape.clone(), BOOL);
    Some(())
}

fn chosen(b: &mut Builder) -> Option<()> {
    let condition = b.value(|value| value.element == BOOL)?;
    let x = b.value(|value| value.is_float() && value.shape == condition.shape)?;
    let value = b.pick(&[0.0, -1.0, f32::NEG_INFINITY]);
    let other = b.float(value);
    b.node("Where", &[&condition, &x, &other], vec![], &x.shape.clone(), FLOAT);
    Some(())
}

fn cast(b: &mut Builder) -> Option<()> {
    let x = b.value(|value| !value.is_float())?;
    b.node("Cast", &[&x], vec![int("to", FLOAT.into())], &x.shape.clone(), FLOAT);
    Some(())
}

fn reduced(b: &mut Builder) -> Option<()> {
    let x = float(b, 1..=5)?;
    let axis = b.below(x.shape.len());
    let mut shape = x.shape.clone();
    shape[axis] = 1;
    let op = b.pick(&["ReduceMean", "ReduceMax", "ReduceL2"]);
    b.node(op, &[&x], vec![ints("axes", &[axis]), int("keepdims", 1)], &shape, FLOAT);
    Some(())
}

fn largest(b: &mut Builder) -> Option<()> {
    let x = float(b, 1..=5)?;
    let axis = b.below(x.shape.len());
    let mut shape = x.shape.clone();
    shape[axis] = 1;
    b.node("ArgMax", &[&x], vec![int("axis", axis as i64), int("keepdims", 1)], &shape, INT64);
    Some(())
}

fn normalized(b: &mut Builder) -> Option<()> {
    let x = float(b, 2..=5)?;
    let size = *x.shape.last()?;
    let (scale, bias) = (b.floats(&[size]), b.floats(&[size]));
    b.node("LayerNormalization", &[&x, &scale, &bias], vec![int("axis", -1)], &x.shape.clone(), FLOAT);
    Some(())
}

fn softmax(b: &mut Builder) -> Option<()> {
    let x = float(b, 1..=5)?;
    let axis = b.below(x.shape.len()) as i64;
    let op = b.pick(&["Softmax", "LogSoftmax"]);
    b.node(op, &[&x], vec![int("axis", axis)], &x.shape.clone(), FLOAT);
    Some(())
}

/// Rows of a table, selected by an input of integers from 0 to 2.
fn gather(b: &mut Builder) -> Option<()> {
    let x = b.value(|value| value.element == INT64 && value.is_input && value.shape.len() < 4)?;
    let columns = b.pick(&[1, 4, 8]);
    let table = b.floats(&[3, columns]);
    let shape: Vec<usize> = x.shape.iter().copied().chain([columns]).collect();
    b.node("Gather", &[&table, &x], vec![int("axis", 0)], &shape, FLOAT);
    Some(())
}

fn identity(b: &mut Builder) -> Option<()> {
    let x = b.value(|_| true)?;
    b.node("Identity", &[&x], vec![], &x.shape.clone(), x.element);
    Some(())
}

fn clip(b: &mut Builder) -> Option<()> {
    let x = float(b, 0..=5)?;
    let low = b.pick(&[0.0, -0.5, f32::NEG_INFINITY]);
    let high = b.pick(&[1.0, 6.0, f32::INFINITY]);
    let (low, high) = (b.float(low), b.float(high));
    b.node("Clip", &[&x, &low, &high], vec![], &x.shape.clone(), FLOAT);
    Some(())
}
