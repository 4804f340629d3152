//! NonMaxSuppression: the boxes with the highest scores, without boxes that overlap better ones.
//! The size of the result depends on the values, so they must be constants.

use npukit_graph::ValueId;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (boxes, scores) = (context.input(0, "boxes")?, context.input(1, "scores")?);
    let (boxes, scores) = (context.decides(boxes, "boxes")?, context.decides(scores, "scores")?);
    let most = match context.integers(2, "max_output_boxes_per_class")?.as_deref() {
        None => 0,
        Some(&[count]) => usize::try_from(count.max(0)).unwrap_or(usize::MAX), // Default: no limit.
        Some(other) => return Err(unsupported("max_output_boxes_per_class", other, "one integer")),
    };
    // Default: the standard's, which removes all overlapping boxes.
    let overlap = context.number(3, "iou_threshold")?.unwrap_or(0.0);
    let least = context.number(4, "score_threshold")?;
    let from_center = context.attributes.flag("center_point_box", false)?;
    let (&[batch, count, 4], &[images, classes, of_scores]) = (boxes.shape(), scores.shape()) else {
        return Err(shapes(boxes.shape(), scores.shape()));
    };
    if (batch, count) != (images, of_scores) {
        return Err(shapes(boxes.shape(), scores.shape()));
    }
    context.reserve(&[batch, classes, count, count])?;
    let corners: Vec<[f32; 4]> = boxes.reals().chunks(4).map(|values| corners(values, from_center)).collect();
    let (scores, mut selected) = (scores.reals(), Vec::new());
    for (image, class) in (0..batch).flat_map(|image| (0..classes).map(move |class| (image, class))) {
        let scores = &scores[(image * classes + class) * count..][..count];
        let boxes = &corners[image * count..][..count];
        for index in select(scores, boxes, least, overlap, most) {
            selected.extend([image as i64, class as i64, index as i64]);
        }
    }
    Ok(vec![context.indices(vec![selected.len() / 3, 3], selected)?])
}

/// Selects boxes with a score above `least`, best first, that do not overlap a selected box by
/// more than `overlap`.
fn select(scores: &[f64], boxes: &[[f32; 4]], least: Option<f32>, overlap: f32, most: usize) -> Vec<usize> {
    let good = |&index: &usize| least.is_none_or(|least| scores[index] > f64::from(least));
    let mut order: Vec<usize> = (0..scores.len()).filter(good).collect();
    // The sort is stable: of equal scores, the first box comes first.
    order.sort_by(|&left, &right| scores[right].total_cmp(&scores[left]));
    let mut selected: Vec<usize> = Vec::new();
    for index in order {
        if selected.len() >= most {
            break;
        }
        if selected.iter().all(|&better| shared(boxes[better], boxes[index]) <= overlap) {
            selected.push(index);
        }
    }
    selected
}

/// Least and largest coordinates `[y, x, y, x]` of a box, which is given by two opposite corners,
/// or by center `[x, y]`, width and height.
fn corners(values: &[f64], from_center: bool) -> [f32; 4] {
    let [a, b, c, d] = [0, 1, 2, 3].map(|index| values[index] as f32);
    match from_center {
        true => [b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0],
        false => [a.min(c), b.min(d), a.max(c), b.max(d)],
    }
}

/// Ratio of the intersection of two boxes to their union.
fn shared(left: [f32; 4], right: [f32; 4]) -> f32 {
    let area = |[top, start, bottom, end]: [f32; 4]| (bottom - top).max(0.0) * (end - start).max(0.0);
    let both =
        area([left[0].max(right[0]), left[1].max(right[1]), left[2].min(right[2]), left[3].min(right[3])]);
    let (first, second) = (area(left), area(right));
    if both <= 0.0 || first <= 0.0 || second <= 0.0 { 0.0 } else { both / (first + second - both) }
}

fn shapes(boxes: &[usize], scores: &[usize]) -> Reason {
    let legal = "boxes [n, count, 4] and scores [n, classes, count]".to_owned();
    Reason::OperandValue { operand: "boxes", found: format!("{boxes:?} with scores {scores:?}"), legal }
}
