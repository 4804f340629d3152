"""Tests language models in Python with the embedded one, and compares them with the command."""

import pathlib

import numpy as np
import pytest

import npukit as npu


def test_answers_are_those_of_the_command(command):
    report = command("generate", "123+456=")
    answer = npu.generate(None, "123+456=")
    tokens = list(answer)
    assert [int(token) for token in tokens] == answer.ids == report["ids"]
    assert "".join(str(token) for token in tokens) == answer.text == report["answer"] == " 579"
    assert answer.prompt_ids == report["prompt_ids"]
    assert answer.end == "token" and answer.cycles is None
    assert str(npu.generate(None, answer.prompt_ids)) == " 579"


def test_answers_take_turns():
    model = npu.language_model()
    assert (model.name, model.target, model.context) == ("adder", "float", 12)
    one, other = model.generate("123+456="), model.generate("7+85=")
    for _ in range(3):
        next(one), next(other)
    assert (str(one), str(other)) == (str(model.generate("123+456=")), str(model.generate("7+85=")))
    assert repr(one) == "<npukit.Answer: 5 tokens, ' 579'>"


def test_a_smaller_model_does_not_change_answers(command):
    # The embedded model proposes its own tokens.
    description = pathlib.Path(__file__).parents[2] / "crates/npukit/assets/adder.toml"
    model = npu.language_model(draft=description)
    assert str(model.generate("123+456=")) == " 579"
    report = command("generate", "123+456=", "--draft", str(description))
    assert report["answer"] == " 579"
    assert report["draft"]["accepted"] == report["draft"]["proposed"] > 0


def test_choices():
    model = npu.language_model()
    assert str(model.generate("123+456=", stop="79")) == " 5"
    stopped = model.generate("123+456=", stop=["7", "9"])
    assert (str(stopped), stopped.end) == (" 5", "7")
    short = model.generate("123+456=", tokens=2)
    assert (str(short), short.end) == (" 5", "length")
    hot = [list(model.generate("1+1=", temperature=20.0, seed=seed)) for seed in (1, 1, 2, 3, 4)]
    assert hot[0] == hot[1] and any(other != hot[0] for other in hot[2:])
    with pytest.raises(npu.errors.UsageError, match="top-p"):
        model.generate("1+1=", temperature=1.0, top_p=2.0)
    with pytest.raises(npu.Error, match="alphabet"):
        model.generate("1*1=")
    with pytest.raises(npu.Error, match="template"):
        model.generate([{"role": "user", "content": "1+1="}])


def test_logits_are_arrays():
    model = npu.language_model()
    logits = model.logits("123+456=")
    assert logits.dtype == np.float32 and logits.shape == (8, 14)
    answer = model.generate("123+456=", tokens=1)
    assert int(next(answer)) == logits[-1].argmax()
    np.testing.assert_array_equal(model.logits(model.encode("123+456=")[:3]), logits[:3])
    with pytest.raises(npu.Error):
        model.logits([99])


def test_a_machine_has_cycles():
    answer = npu.language_model(target="pccx").generate("987+654=")
    assert str(answer) == "1641"
    prompt, further = answer.cycles
    assert prompt > 0 and further > 0


def test_files_are_read(tmp_path):
    with pytest.raises(npu.Error, match="no such file"):
        npu.generate(tmp_path / "absent.gguf", "1+1=")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF")
    with pytest.raises(npu.Error, match="GGUF"):
        npu.language_model(tmp_path / "cut.gguf")
