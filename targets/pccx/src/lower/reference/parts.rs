//! Products, attention, norms and rotations of the reference graph.

use npukit_graph::op::{BinaryKind, ReduceKind, UnaryKind};
use npukit_graph::{Node, Op, ValueId};
use npukit_numeric::Tensor;

use super::{Builder, Constants, ReferenceError};
use crate::config::WORD_LANES;
use crate::lower::ops::{nearest, value_of};
use crate::lower::work::{Attention, Convolution, Live, Norm, Product, Rotary};
use crate::machine::arith::field::KEPT;

/// Whether a 4-bit code is the nearest to a weight. The smallest and largest codes also represent
/// weights beyond them.
fn is_nearest(code: f32, weight: f32, scale: f32) -> bool {
    // The limit is slightly above 0.5 because scales are rounded as well.
    const HALF: f32 = 0.501;
    let exact = weight / scale;
    let is_beyond = code.abs() >= 7.0 && exact / code >= 1.0;
    // If the scale is 0, all weights of the row must be 0.
    scale == 0.0 && weight == 0.0 || (exact - code).abs() <= HALF || is_beyond
}

/// Whether the codes of a weight, each with its scale, are the nearest to it. The remainder is the
/// first of two codes.
fn are_nearest(codes: &[[f32; 2]], weight: f32) -> bool {
    match *codes {
        [[code, scale]] => is_nearest(code, weight, scale),
        [[small, small_scale], [large, large_scale]] => {
            let scales = [large_scale, small_scale];
            let error = |codes| (value_of(codes, scales) - f64::from(weight)).abs();
            // The slack accounts for the rounding of the scales.
            let slack = 0.002 * f64::from(small_scale).abs();
            error([large as i8, small as i8]) <= error(nearest(weight, scales)) + slack
        }
        _ => false,
    }
}

impl Builder {
    /// Returns the weights of each pass over a product as `[k, n]`, with the factors of `n`
    /// results: codes and scales, or the model's weights.
    fn weights(&mut self, product: &Product) -> Result<Vec<[Vec<f32>; 2]>, ReferenceError> {
        let [.., n] = product.size;
        let floats = |id: ValueId| {
            let tensor = self.graph.constant(id).cloned();
            tensor.ok_or(ReferenceError::Unmade("weights"))
        };
        let tensor = floats(product.weights)?;
        let gain = product.gain.map(floats).transpose()?;
        let own = self.model_weights(product, &tensor, gain.as_deref())?;
        if self.constants == Constants::Exact {
            return Ok(vec![[own, vec![product.alpha; n]]]);
        }
        let name = format!("weights of {:?} times {:?}", product.weights, product.gain);
        let passes = self.weights.codes_of(&name, &tensor, gain.as_deref(), product)?;
        for (place, &weight) in own.iter().enumerate() {
            let (input, output) = (place / n, place % n);
            let weight = weight * product.alpha;
            let codes: Vec<[f32; 2]> =
                passes.iter().map(|[codes, factors]| [codes[place], factors[output]]).collect();
            if !are_nearest(&codes, weight) {
                let name = self.graph.value(product.weights).name.clone();
                return Err(ReferenceError::Code { name, input, output, weight, codes });
            }
        }
        Ok(passes)
    }

    /// Returns a product's weights in the model, `[k, n]`, multiplied by gains.
    fn model_weights(
        &self,
        product: &Product,
        tensor: &Tensor,
        gain: Option<&Tensor>,
    ) -> Result<Vec<f32>, ReferenceError> {
        let [_, k, n] = product.size;
        let values = tensor.as_f32().ok_or(ReferenceError::Unmade("weights"))?;
        let gain = gain.map(|gain| gain.as_f32().ok_or(ReferenceError::Unmade("gains"))).transpose()?;
        let weight = |input: usize, output: usize| {
            let place = if product.by_rows { output * k + input } else { input * n + output };
            values[place] * gain.map_or(1.0, |gain| gain[input])
        };
        let weight = &weight;
        Ok((0..k).flat_map(|input| (0..n).map(move |output| weight(input, output))).collect())
    }

    /// Returns the activations as the engines use them, with `k` values per row. `chunks` gives the
    /// number of rows in each product; a single number is repeated.
    pub(super) fn by_engines(
        &mut self,
        y: ValueId,
        chunks: &[usize],
        k: usize,
    ) -> Result<ValueId, ReferenceError> {
        if self.constants == Constants::Exact {
            return Ok(y);
        }
        // The residual of an activation is used, too.
        let share = |&rows: &usize| match self.two_bytes && (rows == 1 || k.is_multiple_of(WORD_LANES)) {
            true => KEPT * (2.0 - KEPT),
            false => KEPT,
        };
        let shares: Vec<f32> = match chunks {
            [rows] => vec![share(rows)],
            _ => chunks.iter().flat_map(|rows| vec![share(rows); *rows]).collect(),
        };
        let shares = self.exactly(&[shares.len(), 1], shares)?;
        self.binary(BinaryKind::Mul, y, shares)
    }

    /// Checks that no row of a product is computed differently because it is alone in its tile.
    fn check_tiles(&self, product: &Product) -> Result<(), ReferenceError> {
        let [m, k, n] = product.size;
        let is_whole = k.is_multiple_of(WORD_LANES) || m % WORD_LANES != 1 || m == 1;
        let is_small = m * (k + n) / WORD_LANES < self.l2_words / 2;
        match self.two_bytes && !is_whole && !is_small {
            true => Err(ReferenceError::LastRow { inputs: k }),
            false => Ok(()),
        }
    }

    /// Adds products of two values that are not constant, matrix by matrix.
    pub(super) fn live(&mut self, live: &Live, operands: &[ValueId]) -> Result<ValueId, ReferenceError> {
        let &[left, right] = operands else { return Err(ReferenceError::Unmade("a product of two")) };
        let [rows, k, _] = live.size;
        let y = self.matmul(left, right)?;
        self.by_engines(y, &[rows], k)
    }

    pub(super) fn product(
        &mut self,
        product: &Product,
        operands: &[ValueId],
    ) -> Result<ValueId, ReferenceError> {
        let &[x, ref others @ ..] = operands else { return Err(ReferenceError::Unmade("a product")) };
        let [_, k, n] = product.size;
        let x = self.rows(x, k)?;
        let mut parts = Vec::new();
        for [weights, factors] in self.weights(product)? {
            let weights = self.exactly(&[k, n], weights)?;
            parts.push((self.matmul(x, weights)?, factors));
        }
        self.behind(product, parts, others)
    }

    /// Adds the operations after the products of codes, `[m, n]`, given for each pass with its
    /// factors.
    fn behind(
        &mut self,
        product: &Product,
        passes: Vec<(ValueId, Vec<f32>)>,
        others: &[ValueId],
    ) -> Result<ValueId, ReferenceError> {
        let [m, k, n] = product.size;
        self.check_tiles(product)?;
        let rows = if product.softmax { 1 } else { m };
        let mut sum = None;
        for (y, factors) in passes {
            let y = self.by_engines(y, &[rows], k)?;
            let factors = self.exactly(&[n], factors)?;
            let y = self.binary(BinaryKind::Mul, y, factors)?;
            sum = Some(match sum {
                Some(sum) => self.binary(BinaryKind::Add, sum, y)?,
                None => y,
            });
        }
        let mut y = sum.ok_or(ReferenceError::Unmade("a product"))?;
        let added = match (others.first().filter(|_| product.adds), product.bias) {
            (Some(&other), _) => Some(self.operand(other)?),
            (None, bias) => bias.map(|bias| self.operand(bias)).transpose()?,
        };
        if let Some(added) = added {
            let count: usize = self.graph.shape(added).iter().product();
            let shape = if count == m * n { vec![m, n] } else { vec![n] };
            let added = self.reshape(added, &shape)?;
            y = self.binary(BinaryKind::Add, y, added)?;
        }
        if product.softmax {
            y = self.softmax(y, true)?;
        }
        if let Some(roots) = others.first().filter(|_| product.quotient) {
            let known = self.roots.iter().find(|(id, _)| id == roots);
            let &(_, roots) = known.ok_or(ReferenceError::Unmade("roots"))?;
            let shares = self.unary(UnaryKind::Reciprocal, roots)?;
            y = self.binary(BinaryKind::Mul, y, shares)?;
        }
        Ok(y)
    }

    /// Adds a convolution with all groups in one matrix of codes.
    pub(super) fn convolution(
        &mut self,
        convolution: &Convolution,
        node: &Node,
        x: ValueId,
    ) -> Result<ValueId, ReferenceError> {
        let product = &convolution.product;
        let [m, _, n] = product.size;
        let (Op::Conv(conv), &[.., channels]) = (&node.op, self.graph.shape(x)) else {
            // The node may be a sum that follows the convolution. Such a node does not contain the
            // convolution's operator.
            return Err(ReferenceError::Unmade("a convolution"));
        };
        let conv = npukit_graph::op::Conv { group: 1, ..conv.clone() };
        let [kh, kw] = convolution.window.kernel;
        let mut parts = Vec::new();
        for [mut weights, factors] in self.weights(product)? {
            weights.truncate(kh * kw * channels * n);
            let weights = self.exactly(&[kh, kw, channels, n], weights)?;
            let y = self.make(conv.clone(), &[x, weights])?;
            parts.push((self.reshape(y, &[m, n])?, factors));
        }
        self.behind(product, parts, &[])
    }

    /// Adds attention, for groups of rows that see the same tokens of the same matrices.
    pub(super) fn attention(&mut self, attention: &Attention) -> Result<ValueId, ReferenceError> {
        let [features, wide] = attention.features;
        let queries = self.rows(attention.queries, features)?;
        let mut groups: Vec<([usize; 2], usize, Vec<usize>)> = Vec::new();
        for (row, tokens) in attention.seen.iter().enumerate() {
            let matrices = attention.rows.map(|rows| row / rows.max(1));
            let same = groups
                .iter_mut()
                .find(|(own, first, _)| *own == matrices && attention.seen[*first] == *tokens);
            match same {
                Some((.., rows)) => rows.push(row),
                None => groups.push((matrices, row, vec![row])),
            }
        }
        let (mut parts, mut order) = (Vec::new(), Vec::new());
        for ([key, value], first, rows) in &groups {
            let tokens: Vec<usize> =
                attention.seen[*first].iter().flat_map(|run| run.start as usize..run.end as usize).collect();
            let own = self.gather(queries, 0, rows)?;
            let keys = self.matrix(attention.keys, features, true, *key)?;
            let keys = self.gather(keys, 1, &tokens)?;
            let scores = self.matmul(own, keys)?;
            let scores = self.by_engines(scores, &[1], features)?;
            let chances = self.chances(attention, scores, rows, &tokens)?;
            let values = self.matrix(attention.values, wide, false, *value)?;
            let values = self.gather(values, 0, &tokens)?;
            let context = self.matmul(chances, values)?;
            parts.push(self.by_engines(context, &[1], tokens.len())?);
            order.extend(rows);
        }
        let all = self.concat(&parts)?;
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &&row)| places[row] = place);
        self.gather(all, 0, &places)
    }

    /// Selects one of several matrices; `features` is its number of rows or columns.
    fn matrix(
        &mut self,
        id: ValueId,
        features: usize,
        by_rows: bool,
        number: usize,
    ) -> Result<ValueId, ReferenceError> {
        let shape = self.graph.shape(id).to_vec();
        let &[.., rows, columns] = &shape[..] else { return Err(ReferenceError::Unmade("a matrix")) };
        if features != if by_rows { rows } else { columns } {
            return Err(ReferenceError::Unmade("a matrix"));
        }
        let count = shape.iter().product::<usize>() / (rows * columns).max(1);
        let all = self.reshape(id, &[count, rows * columns])?;
        let one = self.gather(all, 0, &[number])?;
        self.reshape(one, &[rows, columns])
    }

    fn chances(
        &mut self,
        attention: &Attention,
        scores: ValueId,
        rows: &[usize],
        tokens: &[usize],
    ) -> Result<ValueId, ReferenceError> {
        // The scales of the keys contain the factor.
        let factor = self.exactly(&[1], vec![attention.factor])?;
        let mut scores = self.binary(BinaryKind::Mul, scores, factor)?;
        if !attention.bias.is_empty() {
            let all = attention.bias.len() / attention.seen.len();
            let bias: Vec<f32> = rows
                .iter()
                .flat_map(|row| tokens.iter().map(move |token| row * all + token))
                .map(|place| attention.bias[place])
                .collect();
            let bias = self.sent(&[rows.len(), tokens.len()], &bias)?;
            scores = self.binary(BinaryKind::Add, scores, bias)?;
        }
        if let Some(cap) = attention.cap {
            let (bent, cap) = (self.unary(UnaryKind::Tanh, scores)?, self.number(cap)?);
            scores = self.binary(BinaryKind::Mul, bent, cap)?;
        }
        self.softmax(scores, attention.cap.is_none())
    }

    /// Returns the root of the mean square of each row, `[rows, 1]`: from `own` if the host adds up
    /// squares, from `x` if the machine does.
    pub(super) fn roots_of(
        &mut self,
        norm: &Norm,
        own: ValueId,
        x: ValueId,
    ) -> Result<ValueId, ReferenceError> {
        let squared = match (norm.squares_by_host, norm.centered) {
            (true, true) => {
                let mean = self.reduce(ReduceKind::Mean, own)?;
                self.binary(BinaryKind::Sub, own, mean)?
            }
            _ => x,
        };
        let squares = self.reduce(ReduceKind::SumSquare, squared)?;
        let (share, epsilon) = (self.number(1.0 / norm.row as f32)?, self.number(norm.epsilon)?);
        let mean = self.binary(BinaryKind::Mul, squares, share)?;
        let sum = self.binary(BinaryKind::Add, mean, epsilon)?;
        self.unary(UnaryKind::Sqrt, sum)
    }

    pub(super) fn norm(&mut self, norm: &Norm, x: ValueId) -> Result<ValueId, ReferenceError> {
        let own = self.rows(x, norm.row)?;
        let mut x = own;
        if norm.centered {
            let (sum, share) = (self.reduce(ReduceKind::Sum, own)?, self.number(1.0 / norm.row as f32)?);
            let mean = self.binary(BinaryKind::Mul, sum, share)?;
            x = self.binary(BinaryKind::Sub, own, mean)?;
        }
        let roots = self.roots_of(norm, own, x)?;
        let shares = self.unary(UnaryKind::Reciprocal, roots)?;
        let mut y = self.binary(BinaryKind::Mul, x, shares)?;
        for (kind, operand) in [(BinaryKind::Mul, norm.gain), (BinaryKind::Add, norm.bias)] {
            let Some(operand) = operand else { continue };
            let operand = self.rows(operand, norm.row)?;
            y = self.binary(kind, y, operand)?;
        }
        Ok(y)
    }

    /// Adds `x cos + R x sin`.
    pub(super) fn rotary(&mut self, rotary: &Rotary, x: ValueId) -> Result<ValueId, ReferenceError> {
        if rotary.own_tables {
            return Err(ReferenceError::OwnSines);
        }
        let (head, half) = (rotary.head, rotary.op.size / 2);
        let x = self.rows(x, head)?;
        let mut turning = vec![0.0; head * head];
        for pair in 0..half {
            let [a, b] = if rotary.op.interleaved { [2 * pair, 2 * pair + 1] } else { [pair, pair + half] };
            // The matrix has the shape `[inputs, results]`.
            turning[b * head + a] = -1.0;
            turning[a * head + b] = 1.0;
        }
        let turning = self.exactly(&[head, head], turning)?;
        let turned = self.matmul(x, turning)?;
        let chunks: Vec<usize> = match rotary.by_products {
            true => rotary.positions.chunk_by(|a, b| a == b).map(<[usize]>::len).collect(),
            false => vec![rotary.positions.len()],
        };
        let turned = self.by_engines(turned, &chunks, head)?;
        let own = if rotary.by_products { self.by_engines(x, &chunks, head)? } else { x };
        let mut parts = [own, turned];
        for (part, table) in parts.iter_mut().zip([rotary.cosines, rotary.sines]) {
            // Products round their operands but not their scales.
            let table = if rotary.by_products { table } else { self.operand(table)? };
            let rows: usize = self.graph.shape(table).iter().product::<usize>() / head.max(1);
            let table = self.reshape(table, &[rows, head])?;
            let own = self.gather(table, 0, &rotary.positions)?;
            *part = self.binary(BinaryKind::Mul, *part, own)?;
        }
        self.binary(BinaryKind::Add, parts[0], parts[1])
    }
}
