//! Every element type in every verb: small models whose inputs, outputs or inner values are not
//! 32-bit floats, on all targets. If `check` accepts a model, all verbs must work on it, and its
//! artifact must give bit-identical values.

use npukit::verbs::check::check_program;
use npukit::verbs::compile::compile;
use npukit::verbs::diff::values::{Request as DiffRequest, diff_values};
use npukit::verbs::explore::{Request as ExploreRequest, Resume, Space, explore};
use npukit::verbs::run::{Request, run};
use npukit::verbs::time::{self, time};
use npukit::verbs::{debug, eval, report, trace};
use npukit::{Error, InputFile, Source};
use npukit_import::onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use npukit_numeric::npy::{NpyArray, read_npz, write_npz};
use npukit_numeric::{ElementType, Tensor, TensorData};
use npukit_target::as_element;
use prost::Message;

use crate::memory::Memory;

const TARGETS: [&str; 4] = ["tcu", "opu", "drra:3x4+ext", "pccx"];

/// Rows and columns of the tested values.
const ROWS: usize = 2;
const COLUMNS: usize = 8;

/// Model under construction, with inputs to run it on.
#[derive(Default)]
struct Model {
    graph: GraphProto,
    inputs: Vec<(String, Tensor)>,
}

fn info(name: &str, element: i32, shape: &[usize]) -> ValueInfoProto {
    let dim = |&size: &usize| DimensionProto { dim_value: Some(size as i64), ..DimensionProto::default() };
    let shape = TensorShapeProto { dim: shape.iter().map(dim).collect() };
    let tensor = TensorTypeProto { elem_type: element, shape: Some(shape) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

/// Returns the code of a type in a file.
fn code(element: ElementType) -> i32 {
    match element {
        ElementType::F16 => data_type::FLOAT16,
        ElementType::F64 => data_type::DOUBLE,
        ElementType::BF16 => data_type::BFLOAT16,
        ElementType::I64 => data_type::INT64,
        ElementType::I32 => data_type::INT32,
        ElementType::I8 => data_type::INT8,
        ElementType::U8 => data_type::UINT8,
        ElementType::Bool => data_type::BOOL,
        _ => data_type::FLOAT,
    }
}

impl Model {
    fn input(mut self, name: &str, element: ElementType, shape: &[usize], values: &[f32]) -> Self {
        let tensor = as_element(&Tensor::from_f32(shape.to_vec(), values.to_vec()).unwrap(), element);
        self.inputs.push((name.to_owned(), tensor));
        self.graph.input.push(info(name, code(element), shape));
        self
    }

    /// Adds the input `x` of real numbers from -1 to 1.
    fn reals(self, element: ElementType) -> Self {
        let values: Vec<f32> = (0..ROWS * COLUMNS).map(|at| wave(at, 0.3)).collect();
        self.input("x", element, &[ROWS, COLUMNS], &values)
    }

    /// Adds a constant of floats.
    fn floats(mut self, name: &str, shape: &[usize], values: Vec<f32>) -> Self {
        let dims = shape.iter().map(|&size| size as i64).collect();
        let (name, data_type) = (name.to_owned(), data_type::FLOAT);
        self.graph.initializer.push(TensorProto {
            name,
            dims,
            data_type,
            float_data: values,
            ..TensorProto::default()
        });
        self
    }

    /// Adds a constant of narrow integers.
    fn integers(mut self, name: &str, element: ElementType, shape: &[usize], values: Vec<i32>) -> Self {
        let dims = shape.iter().map(|&size| size as i64).collect();
        let (name, data_type) = (name.to_owned(), code(element));
        self.graph.initializer.push(TensorProto {
            name,
            dims,
            data_type,
            int32_data: values,
            ..TensorProto::default()
        });
        self
    }

    /// Adds weights `name` with these numbers of rows and columns.
    fn weights(self, name: &str, [rows, columns]: [usize; 2]) -> Self {
        self.floats(name, &[rows, columns], (0..rows * columns).map(|at| wave(at, 0.7) / 2.0).collect())
    }

    fn node(self, operator: &str, inputs: &[&str], output: &str) -> Self {
        self.with(operator, inputs, output, &[])
    }

    /// Adds a node with integer attributes.
    fn with(mut self, operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, i64)]) -> Self {
        let attribute = |&(name, value): &(&str, i64)| AttributeProto {
            name: name.to_owned(),
            i: Some(value),
            r#type: attribute_type::INT,
            ..AttributeProto::default()
        };
        self.graph.node.push(NodeProto {
            name: format!("{operator}_{output}"),
            op_type: operator.to_owned(),
            input: inputs.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            attribute: attributes.iter().map(attribute).collect(),
            ..NodeProto::default()
        });
        self
    }

    fn output(mut self, name: &str, element: ElementType, shape: &[usize]) -> Self {
        self.graph.output.push(info(name, code(element), shape));
        self
    }

    /// Returns the model and its inputs as files.
    fn files(self) -> Memory {
        let Self { graph, inputs } = self;
        let opset = OperatorSetIdProto { version: 17, ..OperatorSetIdProto::default() };
        let model = ModelProto {
            ir_version: 8,
            graph: Some(graph),
            opset_import: vec![opset],
            ..ModelProto::default()
        };
        let arrays: Vec<_> =
            inputs.iter().map(|(name, tensor)| (name.as_str(), NpyArray::from(tensor))).collect();
        let mut files = Memory::default();
        files.0.insert("m.onnx".into(), model.encode_to_vec());
        files.0.insert("x.npz".into(), write_npz(&arrays).unwrap());
        files
    }
}

/// Returns numbers from -1 to 1 without a simple pattern.
fn wave(at: usize, phase: f32) -> f32 {
    ((at as f32).mul_add(1.7, phase)).sin()
}

/// Model that looks up rows by index, and multiplies them.
fn ids(element: ElementType) -> Model {
    Model::default()
        .input("ids", element, &[3], &[4.0, 1.0, 7.0])
        .weights("table", [10, COLUMNS])
        .weights("w", [COLUMNS, 4])
        .node("Gather", &["table", "ids"], "rows")
        .node("MatMul", &["rows", "w"], "y")
        .output("y", ElementType::F32, &[3, 4])
}

/// Model that uses integers as numbers.
fn numbers(element: ElementType) -> Model {
    let values: Vec<f32> = (0..ROWS * COLUMNS).map(|at| (at % 5) as f32).collect();
    Model::default()
        .input("x", element, &[ROWS, COLUMNS], &values)
        .weights("w", [COLUMNS, 4])
        .with("Cast", &["x"], "reals", &[("to", data_type::FLOAT.into())])
        .node("MatMul", &["reals", "w"], "y")
        .output("y", ElementType::F32, &[ROWS, 4])
}

/// Model with a product in another float type from end to end.
fn floats(element: ElementType) -> Model {
    Model::default()
        .reals(element)
        .weights("w32", [COLUMNS, 4])
        .with("Cast", &["w32"], "w", &[("to", code(element).into())])
        .node("MatMul", &["x", "w"], "h")
        .node("Relu", &["h"], "y")
        .output("y", element, &[ROWS, 4])
}

/// Model with a product `h` of the input `x`.
fn product() -> Model {
    Model::default().reals(ElementType::F32).weights("w", [COLUMNS, 4]).node("MatMul", &["x", "w"], "h")
}

/// Returns all models, by name.
fn models() -> Vec<(&'static str, Model)> {
    use ElementType::{BF16, Bool, F16, F32, F64, I8, I32, I64, U8};
    let zero = |model: Model| model.floats("zero", &[1], vec![0.0]);
    let mask: Vec<f32> = (0..ROWS * COLUMNS).map(|at| f32::from(u8::from(at % 3 != 1))).collect();
    let masked = Model::default().reals(F32).input("mask", Bool, &[ROWS, COLUMNS], &mask);
    let masked = zero(masked)
        .weights("w", [COLUMNS, 4])
        .node("Where", &["mask", "x", "zero"], "seen")
        .node("MatMul", &["seen", "w"], "y")
        .output("y", F32, &[ROWS, 4]);
    let inside = zero(product())
        .weights("v", [4, 4])
        .node("Greater", &["h", "zero"], "g")
        .node("Neg", &["h"], "n")
        .node("Where", &["g", "h", "n"], "chosen")
        .node("MatMul", &["chosen", "v"], "y")
        .output("y", F32, &[ROWS, 4]);
    let constant = product()
        .floats("c", &[3], vec![120.0, -0.5, 7.0])
        .node("Relu", &["h"], "y")
        .output("c", F32, &[3])
        .output("y", F32, &[ROWS, 4]);
    let quantized_values: Vec<f32> = (0..ROWS * COLUMNS).map(|at| (wave(at, 0.3) * 100.0).round()).collect();
    let quantized = Model::default()
        .input("x", I8, &[ROWS, COLUMNS], &quantized_values)
        .floats("s", &[], vec![1.0 / 128.0])
        .floats("t", &[], vec![1.0 / 32.0])
        .integers("z", I8, &[], vec![0])
        .integers("wq", I8, &[COLUMNS, 4], (0..COLUMNS * 4).map(|at| (wave(at, 0.7) * 60.0) as i32).collect())
        .node("DequantizeLinear", &["x", "s", "z"], "xr")
        .node("DequantizeLinear", &["wq", "s", "z"], "w")
        .node("MatMul", &["xr", "w"], "h")
        .node("QuantizeLinear", &["h", "t", "z"], "y")
        .output("y", I8, &[ROWS, 4]);
    let argmax = product().with("ArgMax", &["h"], "y", &[("axis", 1)]).output("y", I64, &[ROWS, 1]);
    let positive = zero(product()).node("Greater", &["h", "zero"], "g").node("Not", &["g"], "y");
    let mixed = zero(product())
        .node("Relu", &["h"], "y")
        .with("ArgMax", &["h"], "i", &[("axis", 1)])
        .node("Greater", &["h", "zero"], "b")
        .output("i", I64, &[ROWS, 1])
        .output("y", F32, &[ROWS, 4])
        .output("b", Bool, &[ROWS, 4]);
    vec![
        ("int64 ids", ids(I64)),
        ("int32 ids", ids(I32)),
        ("uint8", numbers(U8)),
        ("int8", numbers(I8)),
        ("bool mask", masked),
        ("half", floats(F16)),
        ("double", floats(F64)),
        ("bfloat16", floats(BF16)),
        ("integer output", argmax),
        ("bool output", positive.output("y", Bool, &[ROWS, 4])),
        ("Where inside", inside),
        ("constant output", constant),
        ("int8 QDQ", quantized),
        ("outputs of several types", mixed),
    ]
}

fn inputs() -> Vec<InputFile> {
    vec![InputFile::parse("x.npz")]
}

/// Formats an error with its causes.
fn message(error: &Error) -> String {
    let chain = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Failures of a model on a target, one per line.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    /// Returns the value, or records a failure.
    fn of<T>(&mut self, place: &str, verb: &str, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.0.push(format!("{place}: {verb}: {}", message(&error)))).ok()
    }

    fn hold(&mut self, place: &str, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{place}: {}", what()));
        }
    }
}

/// Tests all verbs of a model on a target.
fn verbs(files: &mut Memory, name: &str, target: &str, failures: &mut Failures) {
    let place = format!("{name} on {target}");
    let source = Source::model("m.onnx", target);
    let checked = failures.of(&place, "check", check_program(&source, files.context()));
    if !checked.is_some_and(|report| report.supported) {
        let refused = compile(&source, files.context()).is_err();
        failures.hold(&place, refused, || "check refuses what compile takes".to_owned());
        return;
    }
    let plain = Request { source: source.clone(), inputs: inputs(), ..Request::default() };
    let full = Request { compare: true, dump: true, ..plain.clone() };
    let Some((ran, of_model)) = failures.of(&place, "run", run(&full, files.context())) else { return };
    let error = ran.comparison.unwrap().relative_error;
    // Measured: 24 % on opu, which uses all of uint8 for the range of a few small integers, and 13
    // % on 4-bit weights.
    failures.hold(&place, error.is_none_or(|error| error < 0.3), || format!("run: error of {error:?}"));
    failures.hold(&place, of_model.dump.is_some_and(|npz| read_npz("d", &npz).is_ok()), || "no dump".into());
    let elements = |npz: &[u8]| -> Vec<(String, ElementType)> {
        read_npz("y", npz).unwrap().into_iter().map(|(name, tensor)| (name, tensor.element())).collect()
    };
    let evaluated = eval::Request { path: "m.onnx".into(), inputs: inputs(), ..Default::default() };
    if let Some((_, outputs)) = failures.of(&place, "eval", eval::eval(&evaluated, files.context())) {
        let (mut ours, mut float) = (elements(&of_model.outputs), elements(&outputs));
        for list in [&mut ours, &mut float] {
            // A machine returns real numbers in its own float type.
            list.iter_mut()
                .filter(|(_, element)| element.is_float())
                .for_each(|one| one.1 = ElementType::F32);
            list.sort();
        }
        failures.hold(&place, ours == float, || format!("run gives {ours:?}, eval {float:?}"));
    }
    failures.of(&place, "time", time(&source, files.context()));
    let timed = time::Request { source: source.clone(), ..Default::default() };
    let reported =
        report::Request { source: source.clone(), inputs: inputs(), time: timed, ..Default::default() };
    failures.of(&place, "report", report::report(&reported, files.context()));
    let after = format!("m.onnx@{target}");
    let differing = DiffRequest { before: "m.onnx".into(), after, inputs: inputs(), ..Default::default() };
    failures.of(&place, "diff", diff_values(&differing, files.context()));
    let traced = trace::Request { source: source.clone(), inputs: inputs(), ..Default::default() };
    failures.of(&place, "trace", trace::trace(&traced, &mut Vec::new(), files.context()));
    let space = format!("target = [\"{target}\"]\nmaximize = [\"snr_db\"]\n");
    let explored = ExploreRequest {
        models: vec!["m.onnx".into()],
        space: Space::from_toml(&space).unwrap(),
        inputs: inputs(),
        ..Default::default()
    };
    let resume = Resume { known: Vec::new(), done: &|_| {} };
    if let Some(found) = failures.of(&place, "explore", explore(&explored, resume, files.context())) {
        let point = &found.points[0];
        let of_point = point.models.first().and_then(|model| model.relative_error);
        failures.hold(&place, of_point == error && point.error.is_none(), || {
            format!("explore: error of {of_point:?}, run: {error:?}; {:?}", point.error)
        });
    }
    for inputs in [Vec::new(), inputs()] {
        let opened = debug::Request { source: source.clone(), inputs, ..Default::default() };
        failures.of(&place, "debug", debug::open(&opened, files.context()).map(drop));
    }
    let Some((_, artifact)) = failures.of(&place, "compile", compile(&source, files.context())) else {
        return;
    };
    let loader = artifact[0].name.clone();
    files.0.extend(artifact.into_iter().map(|file| (file.name, file.bytes)));
    let loaded = Source::artifact(&loader);
    let of_artifact = Request { source: loaded.clone(), ..plain };
    if let Some((_, found)) = failures.of(&place, "run of the artifact", run(&of_artifact, files.context())) {
        let same = values(&found.outputs) == values(&of_model.outputs);
        failures.hold(&place, same, || "the artifact gives other values than the model".to_owned());
    }
    failures.of(&place, "time of the artifact", time(&loaded, files.context()));
    let traced = trace::Request { source: loaded, inputs: inputs(), ..Default::default() };
    failures.of(&place, "trace of the artifact", trace::trace(&traced, &mut Vec::new(), files.context()));
}

/// Returns the arrays of an archive, in the order of their names.
fn values(npz: &[u8]) -> Vec<(String, TensorData)> {
    let mut all: Vec<(String, TensorData)> =
        read_npz("y", npz).unwrap().into_iter().map(|(name, tensor)| (name, tensor.into_data())).collect();
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

#[test]
fn every_verb_takes_every_type() {
    let mut failures = Failures::default();
    for (name, model) in models() {
        let files = model.files();
        for target in TARGETS {
            verbs(&mut files.clone(), name, target, &mut failures);
        }
    }
    assert!(failures.0.is_empty(), "\n{}", failures.0.join("\n"));
}
