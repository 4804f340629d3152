//! NON_MAX_SUPPRESSION_V4 and V5: selects the boxes with the highest scores one after the other,
//! without boxes that overlap a better one. The number of results is the maximum number of boxes;
//! results after the last box are 0.

use npukit_graph::ValueId;
use npukit_graph::op::{
    ArgMax, BinaryKind, Clip, CompareKind, Concat, Gather, Logic, LogicKind, ReduceKind, Slice, SliceRange,
};
use npukit_numeric::ElementType;

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;

/// Number of results that a box adds to the graph.
const RESULTS_PER_BOX: usize = 16;

/// Selected boxes.
#[derive(Default)]
struct Chosen {
    places: Vec<ValueId>,
    scores: Vec<ValueId>,
    counts: Vec<ValueId>,
}

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (boxes, scores) = (context.input(0, "boxes")?, context.input(1, "scores")?);
    let (&[count, 4], &[of_scores]) = (context.shape(boxes), context.shape(scores)) else {
        return Err(unsupported("boxes", context.shape(boxes), "[count, 4] with scores [count]"));
    };
    let most = match context.integers(2, "max_output_size")?.as_deref() {
        Some(&[most]) if most > 0 && count > 0 && count == of_scores => most as usize,
        other => return Err(unsupported("max_output_size", other, "1 or more of one box or more")),
    };
    let missing = |operand| Reason::OperandMissing { operand };
    let overlap = context.number(3, "iou_threshold")?.ok_or(missing("iou_threshold"))?;
    let least = context.number(4, "score_threshold")?.ok_or(missing("score_threshold"))?;
    if let Some(sigma) = context.number(5, "soft_nms_sigma")?.filter(|&sigma| sigma != 0.0) {
        return Err(unsupported("soft_nms_sigma", sigma, "0"));
    }
    context.reserve_results(most.saturating_mul(RESULTS_PER_BOX))?;
    context.reserve(&[count, count])?;
    let overlaps = overlaps(context, boxes, count, overlap)?;
    let chosen = choose(context, scores, overlaps, most, least)?;
    let joined = |context: &mut Context<'_>, parts: Vec<ValueId>| match parts[..] {
        [one] => Ok(one),
        _ => context.helper("chosen", Concat { axis: 0 }, parts),
    };
    let places = joined(context, chosen.places)?;
    let scores = joined(context, chosen.scores)?;
    let counts = joined(context, chosen.counts)?;
    let counts = context.reduce(ReduceKind::Sum, counts, vec![0], false)?;
    Ok(match context.op {
        "NON_MAX_SUPPRESSION_V5" => vec![places, scores, counts],
        _ => vec![places, counts],
    })
}

/// Whether each pair of boxes `[y, x, y, x]` overlaps by more than the given share of their union,
/// `[count, count]`.
fn overlaps(
    context: &mut Context<'_>,
    boxes: ValueId,
    count: usize,
    overlap: f32,
) -> Result<ValueId, Reason> {
    let mut ends = Vec::new();
    for axis in 0..2 {
        let of = |context: &mut Context<'_>, place| {
            let ranges = vec![SliceRange { axis: 1, start: place, length: 1, step: 1 }];
            context.helper("corner", Slice { ranges }, vec![boxes])
        };
        let (first, second) = (of(context, axis)?, of(context, axis + 2)?);
        ends.push((
            context.binary(BinaryKind::Min, first, second)?,
            context.binary(BinaryKind::Max, first, second)?,
        ));
    }
    let (mut area, mut both) = (None, None);
    for (low, high) in ends {
        let size = context.binary(BinaryKind::Sub, high, low)?;
        let across = |context: &mut Context<'_>, x| context.reshaped("across", x, vec![1, count]);
        let (low_across, high_across) = (across(context, low)?, across(context, high)?);
        let end = context.binary(BinaryKind::Min, high, high_across)?;
        let begin = context.binary(BinaryKind::Max, low, low_across)?;
        let shared = context.binary(BinaryKind::Sub, end, begin)?;
        let shared = context.helper("shared", Clip { min: 0.0, max: f32::INFINITY }, vec![shared])?;
        area = Some(times(context, area, size)?);
        both = Some(times(context, both, shared)?);
    }
    let (Some(area), Some(both)) = (area, both) else { return Ok(boxes) };
    let across = context.reshaped("across", area, vec![1, count])?;
    let sum = context.binary(BinaryKind::Add, area, across)?;
    let covered = context.binary(BinaryKind::Sub, sum, both)?;
    let share = context.binary(BinaryKind::Div, both, covered)?;
    // Boxes without an area do not overlap others.
    let zero = context.scalar(area, 0.0)?;
    let (is_area, is_across) = (
        context.compare(CompareKind::Greater, area, zero)?,
        context.compare(CompareKind::Greater, across, zero)?,
    );
    let are_areas = context.helper("areas", Logic { kind: LogicKind::And }, vec![is_area, is_across])?;
    let share = context.choose(are_areas, share, zero)?;
    let overlap = context.scalar(share, overlap)?;
    context.compare(CompareKind::GreaterOrEqual, share, overlap)
}

fn times(context: &mut Context<'_>, product: Option<ValueId>, x: ValueId) -> Result<ValueId, Reason> {
    product.map_or(Ok(x), |product| context.binary(BinaryKind::Mul, product, x))
}

/// Selects the boxes. After each, the box itself and the boxes that overlap it lose their scores.
fn choose(
    context: &mut Context<'_>,
    scores: ValueId,
    overlaps: ValueId,
    most: usize,
    least: f32,
) -> Result<Chosen, Reason> {
    let count = context.shape(scores)[0];
    let none = context.scalar(scores, f32::NEG_INFINITY)?;
    let (least, zero) = (context.scalar(scores, least)?, context.scalar(scores, 0.0)?);
    let positions = context.indices(vec![count], (0..count as i64).collect())?;
    let nowhere = context.indices(vec![1], vec![0])?;
    let above = context.compare(CompareKind::Greater, scores, least)?;
    let mut left = context.choose(above, scores, none)?;
    let mut chosen = Chosen::default();
    for _ in 0..most {
        let op = ArgMax { smallest: false, axis: 0, keep_dims: true, select_last: false };
        let place = context.helper("best", op, vec![left])?;
        let score = context.reduce(ReduceKind::Max, left, vec![0], true)?;
        let is_one = context.compare(CompareKind::Greater, score, none)?;
        let shown = context.choose(is_one, place, nowhere)?;
        chosen.places.push(context.cast(shown, ElementType::I32)?);
        chosen.scores.push(context.choose(is_one, score, zero)?);
        chosen.counts.push(context.cast(is_one, ElementType::I32)?);
        let row = context.helper("row", Gather { axis: 0 }, vec![overlaps, place])?;
        let row = context.reshaped("overlapped", row, vec![count])?;
        let itself = context.compare(CompareKind::Equal, positions, place)?;
        let gone = context.helper("gone", Logic { kind: LogicKind::Or }, vec![row, itself])?;
        left = context.choose(gone, none, left)?;
    }
    Ok(chosen)
}
