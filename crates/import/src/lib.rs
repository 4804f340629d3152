//! Model files to graphs. ONNX today: [`onnx::read`].

pub mod onnx;
