//! Attributes of a node: [`Attributes`] reads them by kind and records which were read.
//!
//! A handler reads the attributes that it supports. Unread ones are reported, never ignored. The
//! exceptions are element types, which the operands also determine, and names with a leading
//! underscore, which are notes of TensorFlow's own passes.

use std::collections::{BTreeMap, BTreeSet};

use super::error::Reason;
use super::proto::{Attr, AttrValue, ListValue, NodeDef, TensorProto, TensorShapeProto};
pub(super) use crate::node::unsupported;

/// Attributes of one node.
pub(super) struct Attributes<'a> {
    all: &'a BTreeMap<String, AttrValue>,
    read: BTreeSet<&'static str>,
}

impl<'a> Attributes<'a> {
    /// Creates the attributes of `node`.
    pub(super) fn new(node: &'a NodeDef) -> Self {
        Self { all: &node.attr, read: BTreeSet::new() }
    }

    /// Returns an integer, or `None` if it is absent.
    pub(super) fn int(&mut self, name: &'static str) -> Result<Option<i64>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(&Attr::I(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_kind(name, other, "an integer")),
        }
    }

    /// Returns an integer, or `default` if it is absent. The default is given in TensorFlow's
    /// definition of the operation.
    pub(super) fn int_or(&mut self, name: &'static str, default: i64) -> Result<i64, Reason> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// Returns a truth value, or `default` if it is absent.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, Reason> {
        match self.find(name) {
            None => Ok(default),
            Some(&Attr::B(value)) => Ok(value),
            Some(other) => Err(wrong_kind(name, other, "a truth value")),
        }
    }

    /// Returns a float, or `default` if it is absent.
    pub(super) fn float(&mut self, name: &'static str, default: f32) -> Result<f32, Reason> {
        match self.find(name) {
            None => Ok(default),
            Some(&Attr::F(value)) => Ok(value),
            Some(other) => Err(wrong_kind(name, other, "a float")),
        }
    }

    /// Returns a string, or `None` if it is absent. Invalid UTF-8 is replaced, as no legal value
    /// contains it.
    pub(super) fn string(&mut self, name: &'static str) -> Result<Option<String>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(Attr::S(bytes)) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
            Some(other) => Err(wrong_kind(name, other, "a string")),
        }
    }

    /// Returns an element type by its code, or `None` if it is absent.
    pub(super) fn element_type(&mut self, name: &'static str) -> Result<Option<i32>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(&Attr::Type(code)) => Ok(Some(code)),
            Some(other) => Err(wrong_kind(name, other, "an element type")),
        }
    }

    /// Returns integers, or `None` if the attribute is absent.
    pub(super) fn ints(&mut self, name: &'static str) -> Result<Option<&'a [i64]>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(Attr::List(ListValue { i, s, f })) if s.is_empty() && f.is_empty() => Ok(Some(i)),
            Some(other) => Err(wrong_kind(name, other, "a list of integers")),
        }
    }

    /// Returns a list of floats, or `None` if it is absent.
    pub(super) fn floats(&mut self, name: &'static str) -> Result<Option<&'a [f32]>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(Attr::List(list)) => Ok(Some(&list.f)),
            Some(other) => Err(wrong_kind(name, other, "a list of floats")),
        }
    }

    /// Returns a shape, or `None` if it is absent.
    pub(super) fn shape(&mut self, name: &'static str) -> Result<Option<&'a TensorShapeProto>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(Attr::Shape(shape)) => Ok(Some(shape)),
            Some(other) => Err(wrong_kind(name, other, "a shape")),
        }
    }

    /// Returns a tensor, or `None` if it is absent.
    pub(super) fn tensor(&mut self, name: &'static str) -> Result<Option<&'a TensorProto>, Reason> {
        match self.find(name) {
            None => Ok(None),
            Some(Attr::Tensor(tensor)) => Ok(Some(tensor)),
            Some(other) => Err(wrong_kind(name, other, "a tensor")),
        }
    }

    /// Accepts any value of an attribute that does not affect the results.
    pub(super) fn without_effect(&mut self, name: &'static str) {
        self.read.insert(name);
    }

    /// Name of the first attribute that was not read.
    pub(super) fn unread(&self) -> Option<&'a str> {
        let known = |name: &str, value: &AttrValue| {
            self.read.contains(name) || name.starts_with('_') || is_type(value)
        };
        self.all.iter().find(|(name, value)| !known(name, value)).map(|(name, _)| name.as_str())
    }

    fn find(&mut self, name: &'static str) -> Option<&'a Attr> {
        self.read.insert(name);
        self.all.get(name).and_then(|value| value.value.as_ref())
    }
}

/// Whether the attribute is an element type or a list of element types, which are not decoded.
fn is_type(value: &AttrValue) -> bool {
    match &value.value {
        Some(Attr::Type(_)) => true,
        Some(Attr::List(list)) => *list == ListValue::default(),
        _ => false,
    }
}

fn wrong_kind(name: &'static str, found: &Attr, legal: &str) -> Reason {
    let found = match found {
        Attr::List(_) => "a list",
        Attr::S(_) => "a string",
        Attr::I(_) => "an integer",
        Attr::F(_) => "a float",
        Attr::B(_) => "a truth value",
        Attr::Type(_) => "an element type",
        Attr::Shape(_) => "a shape",
        Attr::Tensor(_) => "a tensor",
        Attr::Placeholder(_) => "a function's parameter",
        Attr::Func(_) => "a function",
    };
    Reason::AttributeValue { name, found: found.to_owned(), legal: legal.to_owned() }
}
