"""Compares compiled programs with the model: `npu compile` and `npu run` against `npu eval`.

Main function: `judge`. The allowed error is that of the number format, see `format_error`. Models are compiled with
`--calibrate`, so that scales fit the range of their inputs.
"""

import numpy as np

import format_error
from npu import Crash, Refusal

TARGETS = ("tcu:ultra96v2", "tcu:zcu104")

# Distance between values, and largest value, of FP16BP8, the format of both targets.
STEP, LARGEST = 2**-8, 2**7 - 2**-8


def predict(reference, inputs):
    """Returns the expected error of a network on TARGETS; `inputs` hold samples along their first axis.

    `reference` is the network as an ONNX file. Its inputs are matched by order, not by name. Returns pairs like
    `format_error.predict`, in the order of the outputs.
    """
    names = [value.name for value in format_error.session(reference).get_inputs()]
    arrays = list(inputs.values())
    samples = [dict(zip(names, [array[i : i + 1] for array in arrays], strict=True)) for i in range(len(arrays[0]))]
    return list(format_error.predict(reference, samples, STEP, LARGEST).values())


def judge(npu, path, inputs, predicted, target, *reading):
    """Compiles a model's file and runs the program; returns a text and success.

    `reading` are options for reading the model; `predicted` comes from `predict`.
    """
    folder, calibration = npu.folder / "program", npu.folder / "calibration.npz"
    np.savez(calibration, **inputs)
    options = [*reading, "--target", target, "--calibrate", calibration]
    try:
        compiled = npu.run("compile", path, "--output", folder, *options)
        manifest = next(file for file in compiled["artifacts"] if file.endswith(".tmodel"))
        found, report = npu.outputs("run", manifest, inputs)
        wanted, _ = npu.outputs("eval", path, inputs, *reading)
    except (Refusal, Crash) as error:
        return f"{type(error).__name__.lower()}: {error}", False
    texts, good = [f"{compiled['cycles']['estimator']:,} cycles, {report['saturations']} saturated"], True
    for (name, want), expected in zip(wanted.items(), predicted, strict=True):
        text, well = format_error.verdict(found[name], want, *expected)
        texts.append(f"{name}: {text}")
        good = good and well and found[name].shape == want.shape
    return "; ".join(texts), good
