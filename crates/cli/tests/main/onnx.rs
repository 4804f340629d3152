//! Small ONNX files with arbitrary names and places: `hidden = input x weights`, `output =
//! Relu(hidden)`. Source: `onnx/onnx.proto` of the ONNX project.

/// Length of the input and of the output.
pub const SIZE: usize = 4;
/// `TensorProto.FLOAT`.
const FLOAT: u64 = 1;
/// `TensorProto.EXTERNAL`.
const EXTERNAL: u64 = 1;

/// Names in a model.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    pub graph: &'a str,
    pub input: &'a str,
    pub weights: &'a str,
    pub hidden: &'a str,
    pub output: &'a str,
    /// Names of the product and of the node after it.
    pub nodes: [&'a str; 2],
    /// Operator after the product.
    pub operator: &'a str,
    /// File of the weights; `None` if they are in the model itself.
    pub external: Option<&'a str>,
}

impl Default for Model<'_> {
    fn default() -> Self {
        Self {
            graph: "small",
            input: "x",
            weights: "w",
            hidden: "h",
            output: "y",
            nodes: ["product", "follower"],
            operator: "Relu",
            external: None,
        }
    }
}

impl Model<'_> {
    /// Returns the bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let product = node("MatMul", self.nodes[0], &[self.input, self.weights], self.hidden);
        let follower = node(self.operator, self.nodes[1], &[self.hidden], self.output);
        let graph = [
            part(1, product),
            part(1, follower),
            part(2, self.graph),
            part(5, self.tensor()),
            part(11, vector(self.input)),
            part(12, vector(self.output)),
        ];
        let opset = [part(1, ""), number(2, 13)].concat();
        [number(1, 8), part(7, graph.concat()), part(8, opset)].concat()
    }

    fn tensor(&self) -> Vec<u8> {
        let size = number(1, SIZE as u64);
        let head = [size.clone(), size, number(2, FLOAT), part(8, self.weights)].concat();
        let values = match self.external {
            None => part(9, weights()),
            Some(file) => {
                let location = [part(1, "location"), part(2, file)].concat();
                [part(13, location), number(14, EXTERNAL)].concat()
            }
        };
        [head, values].concat()
    }
}

/// Returns the elements of the weights, as stored in a file.
pub fn weights() -> Vec<u8> {
    (0..SIZE * SIZE).flat_map(|at| (at as f32 / 16.0 - 0.25).to_le_bytes()).collect()
}

fn node(operator: &str, name: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs: Vec<u8> = inputs.iter().flat_map(|name| part(1, *name)).collect();
    [inputs, part(2, output), part(3, name), part(4, operator)].concat()
}

/// Returns an input or output.
fn vector(name: &str) -> Vec<u8> {
    let sizes: Vec<u8> = [1, SIZE as u64].into_iter().flat_map(|size| part(1, number(1, size))).collect();
    let tensor = [number(1, FLOAT), part(2, sizes)].concat();
    [part(1, name), part(2, part(1, tensor))].concat()
}

/// Returns a field of bytes.
fn part(field: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// Returns a numeric field.
fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// Encodes a number with seven bits per byte, the lowest first.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
