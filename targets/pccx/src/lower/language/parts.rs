//! Parts of a language model: norms, rotations, feed-forward part and logits.

use npukit_graph::ValueId;
use npukit_graph::language::{Activation, NormKind, Part, Weights};
use npukit_graph::op::{Relu, Unary, UnaryKind};

use super::emit::{Emitter, Factors};
use super::layout::HeadLayout;
use super::{Logits, Template, layout};
use crate::isa::op::{CvoFlags, CvoFunc};
use crate::lower::LowerError;
use crate::lower::code::Place;
use crate::lower::extent::CVO_LENGTH;
use crate::lower::macros::Macros;
use crate::lower::memory::Region;

/// Factors of a rotation that the caller provides: for queries and keys, cosines and sines.
#[derive(Clone, Copy)]
struct Turns {
    queries: [ValueId; 2],
    keys: [ValueId; 2],
}

impl Emitter<'_> {
    /// Emits the whole program.
    ///
    /// # Errors
    /// Too little room in L2.
    pub fn program(mut self, logits: Logits) -> Result<Template, LowerError> {
        let of = self.of();
        self.begin(None, "embedding");
        let x = self.input("embedded tokens", vec![self.tokens, of.hidden]);
        let x = self.sent(x)?;
        let turns = self.turns();
        for (layer, form) in of.layers.iter().enumerate() {
            self.attention_part(layer, form.rotation.map(|rotation| turns[rotation]), x)?;
            self.feed_forward(layer, x)?;
        }
        let first = match logits {
            Logits::None => self.tokens,
            Logits::Last => self.tokens - 1,
            Logits::All => 0,
        };
        self.logits(x, first)?;
        self.end();
        Ok(self.finish())
    }

    /// Adds the factors of each rotation as inputs, repeated for each head.
    fn turns(&mut self) -> Vec<Turns> {
        let of = self.of();
        let mut all = Vec::new();
        for (index, rotation) in of.rotations.iter().enumerate() {
            let width = HeadLayout::rotated(of.head, rotation.features, of.pairs).width();
            let mut one = |name: &str, heads: usize| {
                let name = format!("{name} of rotation {index}");
                self.input(&name, vec![self.tokens, heads * width])
            };
            let queries = [one("cosines of queries", of.heads), one("sines of queries", of.heads)];
            let keys = [one("cosines of keys", of.kv_heads), one("sines of keys", of.kv_heads)];
            all.push(Turns { queries, keys });
        }
        all
    }

    /// Adds the attention of a layer to `x`.
    fn attention_part(&mut self, layer: usize, turns: Option<Turns>, x: Region) -> Result<(), LowerError> {
        let (of, here) = (self.of(), Some(layer));
        self.begin(here, "attention norm");
        let normed = self.norm_of(here, Part::AttentionNorm, x)?;
        self.begin(here, "query, key, value");
        let parts = [Part::Query, Part::Key, Part::Value];
        let operand = self.operand(here, &parts, normed, self.tokens)?;
        let [queries, keys, values] = parts.map(|part| self.product(here, part, &operand));
        let (queries, keys, values) = (queries?, keys?, values?);
        self.finished(operand);
        self.begin(here, "rotation");
        let layout = layout(of, layer);
        for (region, part) in [(queries, Part::QueryNorm), (keys, Part::KeyNorm)] {
            self.head_norm(layer, part, region, &layout)?;
        }
        if let Some(turns) = turns {
            self.rotate(queries, &layout, turns.queries)?;
            self.rotate(keys, &layout, turns.keys)?;
        }
        let context = self.spread_attention(layer, [queries, keys, values], layout.width())?;
        self.begin(here, "output");
        let operand = self.operand(here, &[Part::Output], context, self.tokens)?;
        let results = self.product(here, Part::Output, &operand)?;
        self.finished(operand);
        self.add_part(here, Part::AfterAttentionNorm, x, results)
    }

    /// Emits attention. Cached vectors of 4 bits lose less if their values are spread: queries and
    /// keys by the same matrix, which keeps their products, and values until they are added up.
    fn spread_attention(
        &mut self,
        layer: usize,
        [mut queries, mut keys, mut values]: [Region; 3],
        key: usize,
    ) -> Result<Region, LowerError> {
        let value = HeadLayout::plain(self.of().head).width();
        let spreads = self.language.options().kv_bits == 4;
        let spreads_values = spreads && !self.language.has_spread_values();
        if spreads {
            self.begin(Some(layer), "spread queries, keys, values");
            queries = self.spread(queries, key, false)?;
            keys = self.spread(keys, key, false)?;
        }
        if spreads_values {
            values = self.spread(values, value, false)?;
        }
        self.begin(Some(layer), "attention");
        let context = self.attend(layer, [queries, keys, values], key)?;
        [queries, keys, values].into_iter().for_each(|region| self.release(region));
        if spreads_values { self.spread(context, value, true) } else { Ok(context) }
    }

    /// Adds results of a part to `x`, with the norm of the part if the model has one.
    fn add_part(
        &mut self,
        layer: Option<usize>,
        part: Part,
        x: Region,
        results: Region,
    ) -> Result<(), LowerError> {
        let mut results = results;
        if self.language.model().weights(part, layer).is_some() {
            let normed = self.norm_of(layer, part, results)?;
            self.release(std::mem::replace(&mut results, normed));
        }
        self.add(x, results)?;
        self.release(results);
        Ok(())
    }

    /// Adds the feed-forward part of a layer to `x`.
    fn feed_forward(&mut self, layer: usize, x: Region) -> Result<(), LowerError> {
        let here = Some(layer);
        self.begin(here, "feed-forward norm");
        let normed = self.norm_of(here, Part::FeedForwardNorm, x)?;
        let operand = self.operand(here, &[Part::Gate, Part::Up], normed, self.tokens)?;
        self.begin(here, "up");
        let up = self.product(here, Part::Up, &operand)?;
        let inner = if self.of().gated {
            self.begin(here, "gate");
            let gate = self.product(here, Part::Gate, &operand)?;
            self.begin(here, "activation");
            self.activate(gate)?;
            self.multiply(gate, self.of().feed_forward, Factors::Region(up))?;
            self.release(up);
            gate
        } else {
            self.begin(here, "activation");
            self.activate(up)?;
            up
        };
        self.finished(operand);
        self.begin(here, "down");
        let operand = self.operand(here, &[Part::Down], inner, self.tokens)?;
        let results = self.product(here, Part::Down, &operand)?;
        self.finished(operand);
        self.add_part(here, Part::AfterFeedForwardNorm, x, results)
    }

    /// Computes the activation function in place.
    fn activate(&mut self, region: Region) -> Result<(), LowerError> {
        let (base, values) = (region.base, region.values);
        match self.of().activation {
            // GELU with tanh differs from GELU with the error function by at most 0.0005.
            Activation::Gelu(_) => self.code.cvo(CvoFunc::Gelu, base, base, values, CvoFlags::PLAIN),
            Activation::Relu if self.has_mul() => {
                self.code.cvo(CvoFunc::Relu, base, base, values, CvoFlags::PLAIN);
            }
            Activation::Relu => self.on_host(Relu.into(), region, &[], &[values]),
            Activation::Silu if self.has_mul() => self.silu(region)?,
            Activation::Silu => {
                let op = Unary { kind: UnaryKind::Swish { alpha: 1.0 } };
                self.on_host(op.into(), region, &[], &[values]);
            }
        }
        Ok(())
    }

    /// Computes `x / (1 + e^-x)` in place, in parts as long as an instruction allows.
    fn silu(&mut self, region: Region) -> Result<(), LowerError> {
        let shares = self.allocate(CVO_LENGTH)?;
        for start in (0..region.values).step_by(CVO_LENGTH) {
            let length = (region.values - start).min(CVO_LENGTH);
            let source = region.at(start);
            // The word before the first part is the region's own.
            self.code.copy(source, shares.base, length);
            self.sigmoid_of(shares.base, shares.base, length, 1.0)?;
            self.code.cvo(CvoFunc::Mul, shares.base, source, length, CvoFlags::PLAIN);
        }
        self.release(shares);
        Ok(())
    }

    /// Emits a norm of the rows of `x` with the weights of a part; returns the results.
    fn norm_of(&mut self, layer: Option<usize>, part: Part, x: Region) -> Result<Region, LowerError> {
        let Some(Weights::Norm(gain, bias)) = self.language.model().weights(part, layer) else {
            return Err(LowerError::Fault("a norm"));
        };
        let width = gain.len();
        let out = self.allocate(x.values)?;
        self.code.copy(x.base, out.base, x.values);
        self.norm(out, width, width)?;
        let name = format!("{part:?} of {layer:?}");
        if gain.iter().any(|&gain| gain != 1.0) {
            let slot = self.constant(&format!("{name}, gains"), vec![width], gain.to_vec())?;
            self.multiply(out, width, Factors::Known(slot))?;
        }
        if let Some(bias) = bias {
            let slot = self.constant(&format!("{name}, biases"), vec![width], bias.to_vec())?;
            let (bias, one) = (self.sent(slot)?, self.scalar(1.0)?);
            for row in 0..x.values / width {
                self.scale([bias.base, one, out.at(row * width)], true, width, CvoFlags::ADD)?;
            }
            self.release(bias);
        }
        Ok(out)
    }

    /// Normalizes each head of a row, if the model has this norm.
    fn head_norm(
        &mut self,
        layer: usize,
        part: Part,
        region: Region,
        layout: &HeadLayout,
    ) -> Result<(), LowerError> {
        let Some(Weights::Norm(gain, _)) = self.language.model().weights(part, Some(layer)) else {
            return Ok(());
        };
        self.norm(region, layout.width(), gain.len())?;
        let gains = layout.spread(|feature| gain[feature]);
        let slot = self.constant(&format!("{part:?} of {layer}"), vec![layout.width()], gains)?;
        self.multiply(region, layout.width(), Factors::Known(slot))
    }

    /// Divides each row of `width` values, `count` of them not always zero, by the root of its
    /// mean square, in place; subtracts its mean first if the model's norms do.
    fn norm(&mut self, region: Region, width: usize, count: usize) -> Result<(), LowerError> {
        let numbers = self.numbers(count, self.of().epsilon)?;
        let rows = region.values / width;
        if self.of().norm == NormKind::Layer {
            (0..rows).try_for_each(|row| self.take_mean_off(&numbers, region.at(row * width), width))?;
        }
        let squares = self.allocate(region.values)?;
        self.code.copy(region.base, squares.base, region.values);
        self.multiply(squares, width, Factors::Region(region))?;
        for row in 0..rows {
            let (to, is_first) = (region.at(row * width), row == 0);
            let root = if is_first { region.head() } else { numbers.root };
            self.root_of(&numbers, squares.at(row * width), width, root);
            let divided = CvoFlags { recip_scale: true, ..CvoFlags::PLAIN };
            self.scale([to, root, to], is_first, width, divided)?;
        }
        self.release(squares);
        Ok(())
    }

    /// Rotates each head in place.
    fn rotate(
        &mut self,
        region: Region,
        layout: &HeadLayout,
        [cosines, sines]: [ValueId; 2],
    ) -> Result<(), LowerError> {
        let (width, half) = (layout.width(), layout.half);
        let swapped = self.allocate(region.values)?;
        if width > 2 * half {
            self.code.copy(region.base, swapped.base, region.values);
        }
        for head in (0..region.values).step_by(width) {
            self.code.copy(region.at(head + half), swapped.at(head), half);
            self.code.copy(region.at(head), swapped.at(head + half), half);
        }
        let row = region.values / self.tokens;
        self.multiply(region, row, Factors::Known(cosines))?;
        self.multiply(swapped, row, Factors::Known(sines))?;
        self.add(region, swapped)?;
        self.release(swapped);
        Ok(())
    }

    /// Sends the logits after each token to the host, starting at token `first`.
    fn logits(&mut self, x: Region, first: usize) -> Result<(), LowerError> {
        let (of, rows) = (self.of(), self.tokens - first);
        if rows == 0 {
            return Ok(());
        }
        self.begin(None, "final norm");
        let last = self.allocate(rows * of.hidden)?;
        self.code.copy(x.at(first * of.hidden), last.base, rows * of.hidden);
        let normed = self.norm_of(None, Part::FinalNorm, last)?;
        self.release(last);
        self.begin(None, "logits");
        let places = match self.shares_head() {
            true => self.logits_at_once(normed, rows)?,
            false => self.logits_by_row(normed, rows)?,
        };
        for (row, place) in places.into_iter().enumerate() {
            let slot = self.named(&format!("logits {row}"), vec![of.vocabulary]);
            self.code.receive(slot, place);
            self.graph.outputs.push(slot);
        }
        Ok(())
    }

    /// Emits the logits of each row; returns their places at the host.
    fn logits_by_row(&mut self, normed: Region, rows: usize) -> Result<Vec<Place>, LowerError> {
        let (of, mut places) = (self.of(), Vec::new());
        for row in 0..rows {
            // The operand of a row begins after a separate word.
            let one = self.allocate(of.hidden)?;
            self.code.copy(normed.at(row * of.hidden), one.base, of.hidden);
            let operand = self.operand(None, &[Part::Head], one, 1)?;
            let logits = self.product(None, Part::Head, &operand)?;
            self.finished(operand);
            places.push(self.code.store(logits));
            self.release(logits);
        }
        self.release(normed);
        Ok(places)
    }
}
