//! ONNX files to graphs.
