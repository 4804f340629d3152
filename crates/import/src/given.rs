//! Inputs that the caller fixes: [`constant`] is the tensor that a number on the command line stands for.

use npukit_graph::ValueInfo;
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::elements::typed;
use crate::error::Reason;

/// A tensor of that shape and type, all of whose elements are the number in `text`. There must be room for it.
///
/// # Errors
///
/// [`Reason::Given`] for a text that is no number of the type.
pub(crate) fn constant(info: &ValueInfo, text: &str) -> Result<Tensor, Reason> {
    let count = info.shape.iter().product();
    let data = repeated(info.element, text.trim(), count);
    let data = data.ok_or_else(|| Reason::Given { found: text.to_owned(), legal: legal(info.element) })?;
    typed(info.element, info.shape.clone(), data)
}

/// `count` times the number in `text`, which must be one of the type.
fn repeated(element: ElementType, text: &str, count: usize) -> Option<TensorData> {
    if element.is_float() {
        return Some(TensorData::F32(vec![text.parse().ok()?; count]));
    }
    if element == ElementType::Bool {
        let holds = match text {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return None,
        };
        return Some(TensorData::Bool(vec![holds; count]));
    }
    let number: i64 = text.parse().ok()?;
    let (least, most) = element.integer_range().unwrap_or((i64::MIN, i64::MAX));
    if !(least..=most).contains(&number) {
        return None;
    }
    Some(match TensorData::empty(element.storage()) {
        TensorData::I32(_) => TensorData::I32(vec![i32::try_from(number).ok()?; count]),
        _ => TensorData::I64(vec![number; count]),
    })
}

/// What may be given for an element type.
fn legal(element: ElementType) -> String {
    match element {
        ElementType::Bool => "true or false".to_owned(),
        element if element.is_float() => "a number".to_owned(),
        element => format!("a whole number of {element:?}"),
    }
}
