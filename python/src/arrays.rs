//! Conversion between NumPy arrays and tensors.

use npukit::{AccuracyOptions, ElementType, InputFile, Tensor, TensorData};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An array, with the name of its input if given.
pub type Named<'py> = (Option<String>, Bound<'py, PyUntypedArray>);

/// Converts arrays to inputs of a verb. Each is copied once, to the type in which its elements are
/// computed. A text names a file or a folder, or random numbers, as for `npu run --input`.
pub fn inputs(arrays: &[Named<'_>]) -> PyResult<Vec<InputFile>> {
    let one = |(name, array): &Named<'_>| {
        if array.dtype().kind() == b'U' {
            let text = array.call_method0("item")?.extract::<String>()?;
            return Ok(InputFile::new(name.as_deref(), &text));
        }
        Ok(InputFile::of_array(name.as_deref(), tensor(array)?))
    };
    arrays.iter().map(one).collect()
}

/// Converts an array of labels, or the path of a file with them.
pub fn labels(labels: Option<&Named<'_>>) -> PyResult<Option<AccuracyOptions>> {
    let Some(labels) = labels else { return Ok(None) };
    let file = inputs(std::slice::from_ref(labels))?.into_iter().next();
    Ok(file.map(AccuracyOptions::new))
}

/// Converts an array to a tensor.
fn tensor(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    let dtype = array.dtype();
    let (kind, size) = (dtype.kind(), dtype.itemsize());
    let tensor = match (kind, size) {
        (b'b', _) => held::<bool>(array, "bool", TensorData::Bool)?,
        (b'f', _) => held::<f32>(array, "float32", TensorData::F32)?,
        (b'i', 8) | (b'u', 4 | 8) => held::<i64>(array, "int64", TensorData::I64)?,
        (b'i' | b'u', _) => held::<i32>(array, "int32", TensorData::I32)?,
        _ => {
            let message =
                format!("an array of {dtype} cannot be an input; legal: floats, integers and truth values");
            return Err(PyTypeError::new_err(message));
        }
    };
    let element = match (kind, size) {
        (b'f', 2) => ElementType::F16,
        (b'f', 8) => ElementType::F64,
        (b'i', 1) => ElementType::I8,
        (b'i', 2) => ElementType::I16,
        (b'u', 1) => ElementType::U8,
        (b'u', 2) => ElementType::U16,
        (b'u', 4) => ElementType::U32,
        (b'u', 8) => ElementType::U64,
        _ => return Ok(tensor),
    };
    tensor.with_element(element).map_err(|error| PyTypeError::new_err(error.to_string()))
}

/// Converts an array with elements of type `T`, called `name` in NumPy, to a tensor.
fn held<T: Element + Copy>(
    array: &Bound<'_, PyUntypedArray>,
    name: &str,
    data: fn(Vec<T>) -> TensorData,
) -> PyResult<Tensor> {
    let options = PyDict::new(array.py());
    options.set_item("copy", false)?;
    let array: PyReadonlyArrayDyn<'_, T> = array.call_method("astype", (name,), Some(&options))?.extract()?;
    let elements = match array.as_slice() {
        Ok(elements) if array.is_c_contiguous() => elements.to_vec(),
        // The array is not contiguous in row-major order.
        _ => array.as_array().iter().copied().collect(),
    };
    Tensor::new(array.shape().to_vec(), data(elements)).map_err(|data| {
        PyTypeError::new_err(format!("{} elements do not fit the shape of the array", data.len()))
    })
}

/// Converts tensors to a dictionary of arrays, which take over the elements.
pub fn outputs(py: Python<'_>, tensors: Vec<(String, Tensor)>) -> PyResult<Bound<'_, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, tensor) in tensors {
        arrays.set_item(name, array(py, tensor)?)?;
    }
    Ok(arrays)
}

/// Converts a tensor to an array, which takes over the elements.
pub fn array(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let (shape, element) = (tensor.shape().to_vec(), tensor.element());
    let array = match tensor.into_data() {
        TensorData::F32(values) => shaped(py, values, &shape)?,
        TensorData::I64(values) => shaped(py, values, &shape)?,
        TensorData::I32(values) => shaped(py, values, &shape)?,
        TensorData::Bool(values) => shaped(py, values, &shape)?,
    };
    let dtype = match element {
        ElementType::F16 => "float16",
        ElementType::F64 => "float64",
        ElementType::I8 => "int8",
        ElementType::I16 => "int16",
        ElementType::U8 => "uint8",
        ElementType::U16 => "uint16",
        ElementType::U32 => "uint32",
        ElementType::U64 => "uint64",
        _ => return Ok(array),
    };
    array.call_method1("astype", (dtype,))
}

/// Converts a vector to an array of this shape, without a copy.
pub fn shaped<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let flat: Bound<'py, PyArray1<T>> = values.into_pyarray(py);
    let array: Bound<'py, PyArrayDyn<T>> = flat.reshape(shape.to_vec())?;
    Ok(array.into_any())
}
