"""Language models: texts that they continue, token by token, and their logits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _npukit, arguments
from .arguments import Path
from .progress import Bar, Progress
from .targets import Target

# A text, tokens, or the messages of a conversation, each with `role` and `content`.
Prompt = Union[str, Sequence[int], Sequence[Mapping[str, str]]]


class Token(int):
    """A generated token: its number. `text` is the text that is complete with it, which may be empty."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<token {int(self)}: {self.text!r}>"


class Answer(Iterator[Token]):
    """A text that a model continues: an iterator of its tokens. `str(answer)` generates all of them first."""

    def __init__(self, native: _npukit.Answer):
        self._native = native

    def __next__(self) -> Token:
        found = self._native.next()
        if found is None:
            raise StopIteration
        token = Token(found[0])
        token.text = found[1]
        return token

    @property
    def prompt_ids(self) -> list[int]:
        """Tokens of the prompt."""
        return self._native.prompt_ids

    @property
    def ids(self) -> list[int]:
        """Tokens that were generated so far, including one that ended the text."""
        return self._native.ids

    @property
    def text(self) -> str:
        """Text that was generated so far, without what ended it."""
        return self._native.text

    @property
    def end(self) -> str | None:
        """What ended the text: `token`, `length`, or one of the texts of `stop`; `None` before its end."""
        return self._native.end

    @property
    def cycles(self) -> tuple[int, int] | None:
        """Cycles of the machine for the prompt and for the tokens after the first one; `None` in float."""
        return self._native.cycles

    def __str__(self) -> str:
        for _ in self:
            pass
        return self.text

    def __repr__(self) -> str:
        return f"<npukit.Answer: {len(self.ids)} tokens, {self.text!r}>"


class LanguageModel:
    """A language model in use. A text that begins like the one before only costs the rest."""

    def __init__(self, native: _npukit.LanguageModel):
        self._native = native

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._native.name

    @property
    def target(self) -> str:
        """Target and instance, or `float`."""
        return self._native.target

    @property
    def context(self) -> int:
        """Maximum number of tokens of a text, including the prompt."""
        return self._native.context

    def encode(self, prompt: Prompt) -> list[int]:
        """Returns the tokens of a text, or of a conversation up to the begin of the model's next message."""
        if isinstance(prompt, str):
            return self._native.encode(prompt)
        given: list[Any] = list(prompt)
        if given and isinstance(given[0], Mapping):
            return self._native.encode_chat([(message["role"], message["content"]) for message in given])
        return [int(token) for token in given]

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of tokens."""
        return self._native.decode([int(token) for token in ids])

    def logits(self, prompt: Prompt) -> np.ndarray:
        """Returns the logits after each token of a prompt: float32, `[tokens, vocabulary]`."""
        return self._native.logits(self.encode(prompt))

    def generate(
        self,
        prompt: Prompt,
        *,
        tokens: int | None = None,
        stop: str | Sequence[str] = (),
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        seed: int = 0,
    ) -> Answer:
        """Continues a prompt: a text, tokens, or messages with `role` and `content`.

        Without a temperature, the most likely token is chosen. `npu generate --help` describes the arguments. Tokens
        are computed when the iterator is asked for them.
        """
        choice = {
            "tokens": tokens,
            "stop": [stop] if isinstance(stop, str) else list(stop),
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "min_p": min_p,
            "repetition_penalty": repetition_penalty,
            "seed": seed,
        }
        return Answer(self._native.generate(self.encode(prompt), choice))

    def __repr__(self) -> str:
        return f"<npukit.LanguageModel {self.name} on {self.target}>"


def language_model(
    path: Path | None = None,
    target: Target | str | None = None,
    *,
    options: Mapping[str, str | int] | None = None,
    context: int | None = None,
    draft: Path | None = None,
    calibrate: Path | None = None,
    progress: Progress = None,
) -> LanguageModel:
    """Opens a language model: a GGUF file, the folder of a model hub, or a description; by default the embedded adder.

    Without a target, it is computed in float. `context` is the maximum number of tokens of a text, by default 2048.
    `draft` is a smaller model with the same tokens. It proposes tokens, for speed; the answers do not depend on it.
    `calibrate` is a file of typical text, for which weights of few bits change the results least.
    """
    paths = [None if one is None else arguments.path(one) for one in (path, draft, calibrate)]
    settings = {name: str(value) for name, value in (options or {}).items()}
    instance = None if target is None else str(target)
    with Bar(progress) as shown:
        return LanguageModel(_npukit.LanguageModel(paths, instance, settings, context, shown))


def generate(model: LanguageModel | Path | None, prompt: Prompt, **choice: Any) -> Answer:
    """Lets a model, or the model in a file or folder, continue a prompt. The arguments are those of
    `LanguageModel.generate`."""
    if not isinstance(model, LanguageModel):
        model = language_model(model)
    return model.generate(prompt, **choice)
