//! TensorFlow's convolutions and pools: windows, padding by rule and explicit, and the order of
//! axes. Values are worked out manually from the operators' documentation.

use npukit_import::tensorflow::proto::NodeDef;

use crate::graph_def::{Graph, With, node};
use crate::model::{counting, floats};

/// Order of the axes in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Nhwc,
    Nchw,
}

impl Order {
    /// Numbers of all axes, with one for rows and one for columns.
    fn all(self, rows: i64, columns: i64, others: i64) -> [i64; 4] {
        match self {
            Self::Nhwc => [others, rows, columns, others],
            Self::Nchw => [others, others, rows, columns],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nhwc => "NHWC",
            Self::Nchw => "NCHW",
        }
    }

    /// Padding of rows above and below, and columns left and right, in a list for all axes.
    fn pads(self, [above, below, left, right]: [i64; 4], others: i64) -> [i64; 8] {
        match self {
            Self::Nhwc => [others, 0, above, below, left, right, 0, 0],
            Self::Nchw => [others, 0, 0, 0, above, below, left, right],
        }
    }
}

const ORDERS: [Order; 2] = [Order::Nhwc, Order::Nchw];

/// A window over an image of one channel with the elements 0, 1, 2, ..
struct Case {
    op: &'static str,
    image: [i64; 2],
    kernel: [i64; 2],
    strides: [i64; 2],
    padding: &'static str,
    expected: (&'static [usize], &'static [f32]),
}

impl Case {
    fn graph(&self, order: Order) -> Graph {
        let window = |node: NodeDef| {
            let strides = order.all(self.strides[0], self.strides[1], 1);
            node.ints("strides", &strides).string("padding", self.padding).string("data_format", order.name())
        };
        let graph = Graph::default().input("x", &order.all(self.image[0], self.image[1], 1));
        let [rows, columns] = self.kernel;
        if self.op == "Conv2D" {
            let ones = vec![1.0; (rows * columns) as usize];
            let graph = graph.floats("w", &[rows, columns, 1, 1], &ones);
            return graph.node(window(node(self.op, "y", &["x", "w"])));
        }
        graph.node(window(node(self.op, "y", &["x"])).ints("ksize", &order.all(rows, columns, 1)))
    }
}

#[test]
fn windows_slide_over_images_in_either_order_of_axes() {
    // Rows and columns differ in everything, so that an exchange is detected.
    let case = |op, kernel, strides, padding, expected| Case {
        op,
        image: [3, 4],
        kernel,
        strides,
        padding,
        expected,
    };
    let cases = [
        case("Conv2D", [2, 3], [1, 1], "VALID", (&[2, 2], &[18.0, 24.0, 42.0, 48.0])),
        case("Conv2D", [2, 3], [2, 1], "VALID", (&[1, 2], &[18.0, 24.0])),
        case("Conv2D", [1, 3], [2, 2], "SAME", (&[2, 2], &[3.0, 5.0, 27.0, 21.0])),
        // One row of padding below, two columns left and right.
        case(
            "Conv2D",
            [2, 3],
            [1, 1],
            "SAME",
            (&[3, 4], &[10.0, 18.0, 24.0, 18.0, 26.0, 42.0, 48.0, 34.0, 17.0, 27.0, 30.0, 21.0]),
        ),
        case("MaxPool", [2, 3], [1, 1], "VALID", (&[2, 2], &[6.0, 7.0, 10.0, 11.0])),
        case("MaxPool", [1, 2], [2, 1], "SAME", (&[2, 4], &[1.0, 2.0, 3.0, 3.0, 9.0, 10.0, 11.0, 11.0])),
        case("AvgPool", [3, 2], [1, 2], "VALID", (&[1, 2], &[4.5, 6.5])),
        // Padding is not included in the mean.
        case("AvgPool", [1, 3], [3, 3], "SAME", (&[1, 2], &[0.5, 2.5])),
    ];
    for case in cases {
        for order in ORDERS {
            let shape = order.all(case.image[0], case.image[1], 1).map(|size| size as usize);
            let (found, values) = case.graph(order).run(&[counting(&shape)]);
            let (sizes, expected) = case.expected;
            let shape = order.all(sizes[0] as i64, sizes[1] as i64, 1).map(|size| size as usize);
            let name = format!("{} {:?} {:?} {} {order:?}", case.op, case.kernel, case.strides, case.padding);
            assert_eq!((found, &values[..]), (shape.to_vec(), expected), "{name}");
        }
    }
}

#[test]
fn padding_that_is_spelt_out_belongs_to_its_axis_and_end() {
    let conv = |order: Order, pads: &[i64]| {
        let conv = node("Conv2D", "y", &["x", "w"]).ints("strides", &[1; 4]).string("padding", "EXPLICIT");
        let conv = conv.ints("explicit_paddings", pads).string("data_format", order.name());
        let shape = order.all(1, 1, 1);
        Graph::default().input("x", &shape).floats("w", &[1, 1, 1, 1], &[2.0]).node(conv)
    };
    for order in ORDERS {
        // 1 row above, 2 below, 3 columns left and 4 right of one element.
        let (shape, values) = conv(order, &order.pads([1, 2, 3, 4], 0)).run(&[floats(&[1; 4], &[5.0])]);
        assert_eq!(shape, order.all(4, 8, 1).map(|size| size as usize));
        let mut expected = vec![0.0; 32];
        expected[8 + 3] = 10.0;
        assert_eq!(values, expected, "{order:?}");
        let legal = "8 numbers from 0 to 16777216, 0 for batch and channels";
        for (wrong, shown) in [
            (order.pads([1, 2, 3, 4], 1).to_vec(), None),
            (order.pads([-1, 0, 0, 0], 0).to_vec(), None),
            (order.pads([(1 << 24) + 1, 0, 0, 0], 0).to_vec(), None),
            (vec![0; 6], Some("[0, 0, 0, 0, 0, 0]")),
            (vec![], Some("[]")),
        ] {
            let message = conv(order, &wrong).reason().to_string();
            let shown = shown.map_or_else(|| format!("{wrong:?}"), str::to_owned);
            assert_eq!(message, format!("attribute \"explicit_paddings\" is {shown}; legal: {legal}"));
        }
    }
}

#[test]
fn windows_that_make_no_sense_are_refused_with_what_is_legal() {
    let graph = |node: NodeDef| {
        Graph::default().input("x", &[1, 4, 4, 1]).floats("w", &[1, 1, 1, 1], &[1.0]).node(node)
    };
    let conv = || node("Conv2D", "y", &["x", "w"]);
    let valid = || conv().ints("strides", &[1; 4]).string("padding", "VALID");
    for (node, expected) in [
        (conv().string("padding", "VALID"), "attribute \"strides\" is missing"),
        (conv().ints("strides", &[1; 4]), "attribute \"padding\" is missing"),
        (valid().ints("strides", &[]), "attribute \"strides\" is missing"),
        (
            valid().string("padding", "FULL"),
            "attribute \"padding\" is \"FULL\"; legal: SAME, VALID or EXPLICIT",
        ),
        (valid().string("data_format", "CHWN"), "attribute \"data_format\" is \"CHWN\"; legal: NHWC or NCHW"),
        (
            valid().ints("explicit_paddings", &[0; 8]),
            "attribute \"explicit_paddings\" is [0, 0, 0, 0, 0, 0, 0, 0]; legal: empty with padding VALID",
        ),
    ] {
        assert_eq!(graph(node).reason().to_string(), expected);
    }
    let legal = "4 numbers from 1 to 16777216, 1 for batch and channels";
    for (name, list) in
        [("strides", &[1, 2, 2, 2][..]), ("strides", &[1, 2, 2]), ("dilations", &[1, 0, 1, 1])]
    {
        let message = graph(valid().ints(name, list)).reason().to_string();
        assert_eq!(message, format!("attribute \"{name}\" is {list:?}; legal: {legal}"));
    }
    let flat = Graph::default().input("x", &[4, 4]).floats("w", &[1, 1, 1, 1], &[1.0]).node(valid());
    let legal = "4 axes, batch, rows, columns and channels";
    assert_eq!(flat.reason().to_string(), format!("operand \"input\" is [4, 4]; legal: {legal}"));
    let weights = Graph::default().input("x", &[1, 4, 4, 1]).floats("w", &[1, 1], &[1.0]).node(valid());
    assert_eq!(weights.reason().to_string(), format!("operand \"filter\" is [1, 1]; legal: {legal}"));
}

/// The window of MaxPoolV2 is given by operands.
#[test]
fn the_window_of_a_pool_may_be_operands() {
    let pool = node("MaxPoolV2", "y", &["x", "k", "s"]).string("padding", "VALID");
    let graph = Graph::default().input("x", &[1, 3, 4, 1]).integers("k", &[4], &[1, 2, 3, 1]);
    let graph = graph.integers("s", &[4], &[1, 1, 1, 1]).node(pool);
    let expected = (vec![1, 2, 2, 1], vec![6.0, 7.0, 10.0, 11.0]);
    assert_eq!(graph.run(&[counting(&[1, 3, 4, 1])]), expected);
}

/// The gradient of a convolution: each element spreads the kernel over the result.
#[test]
fn transposed_convolutions_have_the_size_they_state() {
    // Kernels of 2 rows and 3 columns at stride 2: 1, 2, .. where the element is 1.
    let run = |order: Order, size: [i64; 2], padding: &str, image: [i64; 2]| {
        let conv = node("Conv2DBackpropInput", "y", &["size", "w", "x"]).ints("strides", &order.all(2, 2, 1));
        let sizes = order.all(size[0], size[1], 1).map(|size| size as i32);
        let image = order.all(image[0], image[1], 1);
        let graph = Graph::default()
            .input("x", &image)
            .integers("size", &[4], &sizes)
            .floats("w", &[2, 3, 1, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
            .node(conv.string("padding", padding).string("data_format", order.name()));
        let shape = image.map(|size| size as usize);
        let values: Vec<f32> =
            (0..shape.iter().product()).map(|place: usize| 10f32.powi(place as i32)).collect();
        graph.run(&[floats(&shape, &values)])
    };
    for order in ORDERS {
        let shaped = |rows: i64, columns: i64| order.all(rows, columns, 1).map(|size| size as usize).to_vec();
        let whole = [1.0, 2.0, 13.0, 20.0, 30.0, 4.0, 5.0, 46.0, 50.0, 60.0];
        assert_eq!(run(order, [2, 5], "VALID", [1, 2]), (shaped(2, 5), whole.to_vec()), "{order:?}");
        // A column that no kernel reaches.
        let wider = [1.0, 2.0, 13.0, 20.0, 30.0, 0.0, 4.0, 5.0, 46.0, 50.0, 60.0, 0.0];
        assert_eq!(run(order, [2, 6], "VALID", [1, 2]), (shaped(2, 6), wider.to_vec()), "{order:?}");
        // One column of padding is cropped at the end, and for 3 columns also one at the beginning.
        let same = [1.0, 2.0, 13.0, 20.0, 4.0, 5.0, 46.0, 50.0];
        assert_eq!(run(order, [2, 4], "SAME", [1, 2]), (shaped(2, 4), same.to_vec()), "{order:?}");
        let odd = [2.0, 13.0, 20.0, 5.0, 46.0, 50.0];
        assert_eq!(run(order, [2, 3], "SAME", [1, 2]), (shaped(2, 3), odd.to_vec()), "{order:?}");
    }
}

/// Elements 1 and 10 spread 1, 2, 3 to every other column.
#[test]
fn transposed_convolutions_may_be_dilated() {
    let run = |size: i32, stride: i64| {
        let conv = node("Conv2DBackpropInput", "y", &["size", "w", "x"]).string("padding", "VALID");
        let graph = Graph::default()
            .input("x", &[1, 1, 2, 1])
            .integers("size", &[4], &[1, 1, size, 1])
            .floats("w", &[1, 3, 1, 1], &[1.0, 2.0, 3.0])
            .node(conv.ints("strides", &[1, 1, stride, 1]).ints("dilations", &[1, 1, 2, 1]));
        graph.run(&[floats(&[1, 1, 2, 1], &[1.0, 10.0])]).1
    };
    assert_eq!(run(6, 1), [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
    assert_eq!(run(7, 2), [1.0, 0.0, 12.0, 0.0, 23.0, 0.0, 30.0]);
    assert_eq!(run(8, 2), [1.0, 0.0, 12.0, 0.0, 23.0, 0.0, 30.0, 0.0]);
}
