"""Writes the digits network as ONNX: opset 13, IR 8, NCHW, batch dimension left open."""

from onnx import TensorProto, checker, helper, numpy_helper

from network import BN_EPSILON


def model(net):
    """The ONNX model of a trained `Network`; input `image` [batch,1,8,8], output `logits` [batch,10]."""
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
    constants = [numpy_helper.from_array(array, name) for name, array in arrays(net).items()]
    graph = helper.make_graph(nodes(), "digits", [image], [logits], constants)
    opsets = [helper.make_opsetid("", 13)]
    result = helper.make_model(graph, producer_name="npukit", opset_imports=opsets, ir_version=8)
    checker.check_model(result, full_check=True)
    return result


def arrays(net):
    """The trained arrays under the names the nodes use."""
    return {
        "conv1.weight": net.conv1.w,
        "conv1.bias": net.conv1.b,
        "bn1.weight": net.bn1.gamma,
        "bn1.bias": net.bn1.beta,
        "bn1.running_mean": net.bn1.mean,
        "bn1.running_var": net.bn1.var,
        "conv2.weight": net.conv2.w,
        "conv2.bias": net.conv2.b,
        "fc.weight": net.fc.w,
        "fc.bias": net.fc.b,
    }


def nodes():
    """The nodes in the order they run; each is named after the result it gives."""
    bn = ["bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var"]
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1, 1]}
    return [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], "conv1", **window),
        node("BatchNormalization", ["conv1", *bn], "bn1", epsilon=float(BN_EPSILON)),
        node("Relu", ["bn1"], "relu1"),
        node("MaxPool", ["relu1"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["pool1", "conv2.weight", "conv2.bias"], "conv2", **window),
        node("Relu", ["conv2"], "relu2"),
        node("Flatten", ["relu2"], "flat", axis=1),
        node("Gemm", ["flat", "fc.weight", "fc.bias"], "logits", transB=1),
    ]


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=f"/{output}", **attributes)
