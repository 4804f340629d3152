//! Inputs that the caller fixes: [`constant`] parses a number of the command line into a tensor.

use npukit_graph::ValueInfo;
use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::elements::typed;
use crate::error::Reason;

/// Makes a tensor of that shape and type, filled with the number in `text`. The shape must be
/// within the size limits.
///
/// # Errors
///
/// [`Reason::Given`] if the text is not a number of the type.
pub(crate) fn constant(info: &ValueInfo, text: &str) -> Result<Tensor, Reason> {
    let count = info.shape.iter().product();
    let data = repeated(info.element, text.trim(), count);
    let data = data.ok_or_else(|| Reason::Given { found: text.to_owned(), legal: legal(info.element) })?;
    typed(info.element, info.shape.clone(), data)
}

/// Returns `count` copies of the number in `text`, or `None` if the type cannot represent it.
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

/// Legal values of an element type, for messages.
fn legal(element: ElementType) -> String {
    match element {
        ElementType::Bool => "true or false".to_owned(),
        element if element.is_float() => "a number".to_owned(),
        element => format!("a whole number of {element:?}"),
    }
}
