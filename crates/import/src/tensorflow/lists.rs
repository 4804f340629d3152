//! Lists of tensors (`TensorList`), in which Keras layers keep their steps. Lists are resolved
//! during the import, so the graph does not contain them. Indices of elements must be constant, as
//! they are in an unrolled loop.

use std::rc::Rc;

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Op, Reshape, Slice, SliceRange};
use npukit_numeric::TensorData;

use super::binding::{Binding, Item, List};
use super::error::Reason;
use super::importer::Importer;
use super::ops::LISTS;
use super::proto::NodeDef;
use crate::builder::first;
use crate::elements::typed;
use crate::node::{ELEMENTS_PER_RESULT, unsupported};
use crate::shape::tensor;

/// Number of list elements whose copy costs as much as one tensor.
const COPIED: usize = 16;

impl Importer<'_> {
    /// Translates a node of lists. Returns `None` for other nodes.
    pub(super) fn of_lists(&mut self, node: &NodeDef) -> Option<Result<Binding, Reason>> {
        let is_one = LISTS.contains(&node.op.as_str());
        is_one.then(|| {
            let mut operands = Vec::new();
            for text in node.input.iter().filter(|text| !text.starts_with('^')) {
                let Some(item) = self.item(text, node)? else { return Ok(Binding::Failed) };
                operands.push(item);
            }
            self.list_operator(node, &operands)
        })
    }

    fn list_operator(&mut self, node: &NodeDef, operands: &[Item]) -> Result<Binding, Reason> {
        let list = || match operands.first() {
            Some(Item::List(list)) => Ok(list.as_ref().clone()),
            _ => Err(Reason::OperandMissing { operand: "input_handle" }),
        };
        let value = |place: usize, operand| match operands.get(place) {
            Some(Item::Value(id)) => Ok(*id),
            _ => Err(Reason::OperandMissing { operand }),
        };
        let given = |list: List| Ok(Binding::List(Rc::new(list)));
        match node.op.as_str() {
            "EmptyTensorList" => given(List::default()),
            "TensorListReserve" => given(self.reserved_list(value(1, "num_elements")?)?),
            "TensorListFromTensor" => {
                let tensor = value(0, "tensor")?;
                given(List { elements: self.rows(node, tensor)?.into_iter().map(Some).collect() })
            }
            "TensorListPushBack" => {
                let mut list = list()?;
                self.builder.reserve(&[list.elements.len() / COPIED + 1])?;
                list.elements.push(Some(value(1, "tensor")?));
                given(list)
            }
            "TensorListSetItem" => {
                let mut list = list()?;
                self.builder.reserve(&[list.elements.len() / COPIED + 1])?;
                let place = self.place(value(1, "index")?, list.elements.len())?;
                list.elements[place] = Some(value(2, "item")?);
                given(list)
            }
            "TensorListLength" => {
                let length = TensorData::I32(vec![list()?.elements.len() as i32]);
                let length = tensor(Vec::new(), length)?;
                Ok(Binding::Values(vec![self.builder.constant(&node.name, length)]))
            }
            "TensorListGetItem" => {
                let list = list()?;
                let place = self.place(value(1, "index")?, list.elements.len())?;
                Ok(Binding::Values(vec![self.element(node, &list, place)?]))
            }
            operator => {
                let list = list()?;
                let places = match operator {
                    "TensorListGather" => self.places(value(1, "indices")?, list.elements.len())?,
                    _ => (0..list.elements.len()).collect(),
                };
                self.stack(node, &list, &places)
            }
        }
    }

    /// Returns a list of as many empty elements as the constant states.
    fn reserved_list(&mut self, count: ValueId) -> Result<List, Reason> {
        let count = self.known(count, "num_elements")?;
        let count = usize::try_from(count[0]).map_err(|_| unsupported("num_elements", count, "0 or more"))?;
        self.builder.reserve(&[count, ELEMENTS_PER_RESULT])?;
        Ok(List { elements: vec![None; count] })
    }

    /// Returns the places of a constant in a list of `length` elements.
    fn places(&self, indices: ValueId, length: usize) -> Result<Vec<usize>, Reason> {
        let places = self.known(indices, "indices")?;
        let place = |&place: &i64| usize::try_from(place).ok().filter(|&place| place < length);
        let places: Option<Vec<usize>> = places.iter().map(place).collect();
        places.ok_or_else(|| unsupported("indices", "others", "places of the list"))
    }

    /// Returns the integers of a constant, at least one.
    fn known(&self, id: ValueId, operand: &'static str) -> Result<Vec<i64>, Reason> {
        let constant = self.builder.graph.constant(id).ok_or(Reason::OperandNotConstant { operand })?;
        match constant.data() {
            TensorData::I32(values) if !values.is_empty() => {
                Ok(values.iter().map(|&value| value.into()).collect())
            }
            TensorData::I64(values) if !values.is_empty() => Ok(values.clone()),
            _ => Err(unsupported(operand, constant.shape(), "integers")),
        }
    }

    /// Returns an index into a list of `length` elements.
    fn place(&self, id: ValueId, length: usize) -> Result<usize, Reason> {
        let stated = self.known(id, "index")?;
        let place = usize::try_from(stated[0]).ok().filter(|&place| place < length && stated.len() == 1);
        place.ok_or_else(|| {
            unsupported("index", &stated[..stated.len().min(8)], format!("one of the {length} places"))
        })
    }

    /// Splits a tensor along its first axis, which is removed.
    fn rows(&mut self, node: &NodeDef, value: ValueId) -> Result<Vec<ValueId>, Reason> {
        let shape = self.builder.graph.shape(value).to_vec();
        let Some((&count, inner)) = shape.split_first() else {
            return Err(unsupported("tensor", &shape[..], "an axis or more"));
        };
        self.builder.reserve(&[count, ELEMENTS_PER_RESULT])?;
        let mut rows = Vec::new();
        for start in 0..count {
            let ranges = vec![SliceRange { axis: 0, start, length: 1, step: 1 }];
            let row = self.emitted(node, Slice { ranges }, vec![value])?;
            rows.push(self.emitted(node, Reshape { shape: inner.to_vec() }, vec![row])?);
        }
        Ok(rows)
    }

    /// Returns an element, or zeros if it is not set.
    fn element(&mut self, node: &NodeDef, list: &List, place: usize) -> Result<ValueId, Reason> {
        if let Some(element) = list.elements[place] {
            return Ok(element);
        }
        let like = list.elements.iter().find_map(|&element| element).ok_or(Reason::NoShape)?;
        let info = self.builder.graph.value(like).info.clone();
        self.builder.reserve(&info.shape)?;
        let count = info.shape.iter().product();
        let zeros = match TensorData::empty(info.element.storage()) {
            TensorData::F32(_) => TensorData::F32(vec![0.0; count]),
            TensorData::I64(_) => TensorData::I64(vec![0; count]),
            TensorData::I32(_) => TensorData::I32(vec![0; count]),
            TensorData::Bool(_) => TensorData::Bool(vec![false; count]),
        };
        Ok(self.builder.constant(&node.name, typed(info.element, info.shape, zeros)?))
    }

    /// Stacks elements along a new first axis.
    fn stack(&mut self, node: &NodeDef, list: &List, places: &[usize]) -> Result<Binding, Reason> {
        let mut rows = Vec::new();
        for &place in places {
            let element = self.element(node, list, place)?;
            let shape = [&[1], self.builder.graph.shape(element)].concat();
            rows.push(self.emitted(node, Reshape { shape }, vec![element])?);
        }
        let stacked = match rows[..] {
            [] => return Err(Reason::NoShape),
            [row] => row,
            _ => self.emitted(node, Concat { axis: 0 }, rows)?,
        };
        Ok(Binding::Values(vec![stacked]))
    }

    fn emitted(
        &mut self,
        node: &NodeDef,
        op: impl Into<Op>,
        operands: Vec<ValueId>,
    ) -> Result<ValueId, Reason> {
        first(&self.builder.emit(&node.name, op.into(), operands)?, &node.name)
    }
}
