//! Attributes of a node: [`Attributes`] reads them by type and records which were read.
//!
//! A handler reads the attributes that it supports. Unread ones are reported, never ignored.

use super::error::Reason;
use super::proto::{AttributeProto, NodeProto, TensorProto, attribute_type};
pub(super) use crate::node::unsupported;

/// Value of an attribute, for a node that is not from a file.
pub(crate) enum Given {
    Int(i64),
    Ints(Vec<i64>),
    Text(&'static str),
}

impl Given {
    /// Converts the value to an attribute called `name`.
    pub(super) fn attribute(&self, name: &str) -> AttributeProto {
        let mut attribute = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
        match self {
            Self::Int(value) => (attribute.r#type, attribute.i) = (attribute_type::INT, Some(*value)),
            Self::Ints(values) => (attribute.r#type, attribute.ints) = (attribute_type::INTS, values.clone()),
            Self::Text(text) => {
                (attribute.r#type, attribute.s) = (attribute_type::STRING, Some(text.as_bytes().to_vec()));
            }
        }
        attribute
    }
}

/// Attributes of one node.
pub(super) struct Attributes<'a> {
    list: &'a [AttributeProto],
    read: Vec<bool>,
}

impl<'a> Attributes<'a> {
    /// Collects the attributes of `node`.
    ///
    /// # Errors
    ///
    /// A repeated name, a subgraph, or a reference to a function's attribute.
    pub(super) fn new(node: &'a NodeProto) -> Result<Self, Reason> {
        let mut names = std::collections::HashSet::new();
        for attribute in &node.attribute {
            let name = &attribute.name;
            if !names.insert(name) {
                return Err(Reason::AttributeTwice { name: name.clone() });
            }
            let holds_graph = attribute.g.is_some() || !attribute.graphs.is_empty();
            if holds_graph || matches!(attribute.r#type, attribute_type::GRAPH | attribute_type::GRAPHS) {
                return Err(Reason::Subgraph { name: name.clone() });
            }
        }
        Ok(Self { list: &node.attribute, read: vec![false; node.attribute.len()] })
    }

    /// Returns an integer, or `None` if it is absent.
    pub(super) fn int(&mut self, name: &'static str) -> Result<Option<i64>, Reason> {
        let found = self.find(name, attribute_type::INT, "INT")?;
        // Default: protobuf defines an omitted field as 0.
        Ok(found.map(|attribute| attribute.i.unwrap_or(0)))
    }

    /// Returns an integer, or `default` if it is absent. The default is given in the operator's
    /// page of the ONNX standard.
    pub(super) fn int_or(&mut self, name: &'static str, default: i64) -> Result<i64, Reason> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// Returns a truth value stored as 0 or 1, or `default` if it is absent.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, Reason> {
        match self.int(name)? {
            None => Ok(default),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(value) => Err(unsupported(name, value, "0 or 1")),
        }
    }

    /// Returns a float, or `None` if it is absent.
    pub(super) fn float(&mut self, name: &'static str) -> Result<Option<f32>, Reason> {
        let found = self.find(name, attribute_type::FLOAT, "FLOAT")?;
        // Default: protobuf defines an omitted field as 0.
        Ok(found.map(|attribute| attribute.f.unwrap_or(0.0)))
    }

    /// Returns a float, or `default` if it is absent. The default is given in the operator's page
    /// of the ONNX standard.
    pub(super) fn float_or(&mut self, name: &'static str, default: f32) -> Result<f32, Reason> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    /// Returns a string, or `None` if it is absent. Invalid UTF-8 is replaced, as no legal value
    /// contains it.
    pub(super) fn string(&mut self, name: &'static str) -> Result<Option<String>, Reason> {
        let found = self.find(name, attribute_type::STRING, "STRING")?;
        Ok(found.map(|attribute| {
            // Default: protobuf defines an omitted field as empty.
            String::from_utf8_lossy(attribute.s.as_deref().unwrap_or_default()).into_owned()
        }))
    }

    /// Returns integers, or `None` if the attribute is absent.
    pub(super) fn ints(&mut self, name: &'static str) -> Result<Option<&'a [i64]>, Reason> {
        let found = self.find(name, attribute_type::INTS, "INTS")?;
        Ok(found.map(|attribute| attribute.ints.as_slice()))
    }

    /// Returns floats, or `None` if the attribute is absent.
    pub(super) fn floats(&mut self, name: &'static str) -> Result<Option<&'a [f32]>, Reason> {
        let found = self.find(name, attribute_type::FLOATS, "FLOATS")?;
        Ok(found.map(|attribute| attribute.floats.as_slice()))
    }

    /// Returns strings, or `None` if the attribute is absent.
    pub(super) fn strings(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Reason> {
        let found = self.find(name, attribute_type::STRINGS, "STRINGS")?;
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Ok(found.map(|attribute| attribute.strings.iter().map(text).collect()))
    }

    /// Returns a tensor, or `None` if it is absent.
    pub(super) fn tensor(&mut self, name: &'static str) -> Result<Option<&'a TensorProto>, Reason> {
        let found = self.find(name, attribute_type::TENSOR, "TENSOR")?;
        Ok(found.and_then(|attribute| attribute.t.as_deref()))
    }

    /// Accepts any value of an attribute that does not affect the results.
    pub(super) fn without_effect(&mut self, name: &str) {
        for (attribute, read) in self.list.iter().zip(&mut self.read) {
            *read |= attribute.name == name;
        }
    }

    /// Name of the first attribute that was not read.
    pub(super) fn unread(&self) -> Option<&'a str> {
        let mut unread = self.list.iter().zip(&self.read).filter(|(_, read)| !**read);
        unread.next().map(|(attribute, _)| attribute.name.as_str())
    }

    fn find(
        &mut self,
        name: &'static str,
        code: i32,
        expected: &'static str,
    ) -> Result<Option<&'a AttributeProto>, Reason> {
        let Some(index) = self.list.iter().position(|attribute| attribute.name == name) else {
            return Ok(None);
        };
        self.read[index] = true;
        let attribute = &self.list[index];
        // Writers of IR version 1 omitted the type; the value field then determines it.
        if attribute.r#type != code && attribute.r#type != 0 || !attribute.ref_attr_name.is_empty() {
            return Err(Reason::AttributeType { name, found: attribute.r#type, expected });
        }
        Ok(Some(attribute))
    }
}
