"""Tests `npu serve` with the package `openai`: 50 clients at once get the tokens of `npu generate`, streamed and whole,
the most likely ones and random ones. Clients that leave, wrong requests and foreign web pages are tested as well.

The model is a small one of random weights in NPUKIT_SHARED. `requirements-serve.txt` installs the client.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import openai

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = 50
TOKENS = 24
TEXTS = ["Alice was", "The Rabbit", "Down, down", "Curious", "«é» 🙂", "a", "I wonder if", "Alice was not", "1 2 3", "the"]
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
# Options of the command, and the same parameters of a request.
CHOICES = [
    ([], {}),
    (["--temperature", "1.5", "--top-p", "0.9", "--seed", "7"], {"temperature": 1.5, "top_p": 0.9, "seed": 7}),
    (["--stop", "e"], {"stop": "e"}),
]


class Served:
    """A server as a process."""

    def __init__(self, npu, model, *options):
        command = [npu, "serve", "--model", model, "--port", "0", "--json", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.url, self.model = ready["url"], ready["model"]
        self.address = self.url.split("/")[2]
        self.client = openai.OpenAI(base_url=self.url, api_key="none", max_retries=0, timeout=120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        assert self.process.poll() is None, "the server has ended"
        self.process.kill()
        self.process.wait()

    def status(self, headers, method="GET", path="/v1/models"):
        """Returns the status of a request with these headers."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        connection.request(method, path, headers=headers)
        return connection.getresponse().status


def expected(npu, model, folder):
    """Returns the answers of the command: by kind of prompt, choice and text."""
    prompts = folder / "prompts.txt"
    prompts.write_text("\n".join(TEXTS))
    answers = {}
    for kind in ("text", "chat"):
        for index, (options, _) in enumerate(CHOICES):
            command = [npu, "generate", "--model", model, "--prompts", prompts, "--tokens", str(TOKENS), "--json", *options]
            command += ["--chat"] if kind == "chat" else []
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for text, answer in zip(TEXTS, json.loads(done.stdout)["answers"], strict=True):
                end = "length" if answer["end"] == "length" else "stop"
                answers[kind, index, text] = answer["answer"], len(answer["prompt_ids"]), len(answer["ids"]), end
    return answers


def asked(served, kind, parameters, text, stream):
    """Returns the answer of the server, in the form of `expected`."""
    chat = kind == "chat"
    prompt = {"messages": [{"role": "user", "content": text}]} if chat else {"prompt": text}
    create = served.client.chat.completions.create if chat else served.client.completions.create
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    made = create(model=served.model, max_tokens=TOKENS, **prompt, **parameters, **more)
    if not stream:
        choice = made.choices[0]
        answer = choice.message.content if chat else choice.text
        return answer, made.usage.prompt_tokens, made.usage.completion_tokens, choice.finish_reason
    answer, usage, end = "", None, None
    for part in made:
        usage = part.usage or usage
        for choice in part.choices:
            answer += (choice.delta.content or "") if chat else choice.text
            end = choice.finish_reason or end
    return answer, usage.prompt_tokens, usage.completion_tokens, end


def check_clients(served, answers):
    """Compares the answers of many clients at once."""
    cases = [(*case, stream) for case in answers for stream in (False, True)]

    def one(case):
        kind, index, text, stream = case
        found = asked(served, kind, CHOICES[index][1], text, stream)
        return None if found == answers[kind, index, text] else (case, found, answers[kind, index, text])

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        wrong = [one for one in clients.map(one, cases) if one]
    assert not wrong, f"{len(wrong)} of {len(cases)} answers differ, the first: {wrong[0]}"
    print(f"{len(cases)} answers for {CLIENTS} clients are those of npu generate")


def check_leaving(served):
    """Clients that leave do not cost the others their time."""
    body = json.dumps({"prompt": "Alice", "max_tokens": 100, "stream": True})
    for _ in range(30):
        connection = http.client.HTTPConnection(served.address, timeout=30)
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        connection.close()
    stream = served.client.completions.create(model=served.model, prompt="Alice", max_tokens=100, stream=True)
    next(iter(stream))
    stream.close()
    begin = time.monotonic()
    asked(served, "text", {}, "Alice was", False)
    print(f"after clients that left, an answer took {time.monotonic() - begin:.2f} s")


def check_refusals(served):
    """Requests that cannot be answered have the exceptions of the package."""
    complete = served.client.completions.create
    assert [model.id for model in served.client.models.list()] == [served.model]
    assert served.client.models.retrieve(served.model).id == served.model
    for parameters, exception, message in [
        ({"model": "other"}, openai.NotFoundError, "there is no model"),
        ({"temperature": -1}, openai.BadRequestError, "temperature"),
        ({"n": 2}, openai.BadRequestError, "`n`"),
        ({"prompt": "x" * 5000}, openai.BadRequestError, "exceed"),
    ]:
        try:
            complete(**{"model": served.model, "prompt": "a", **parameters})
        except exception as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"{parameters} was answered")
    host = {"Host": served.address}
    assert served.status(host) == 200
    assert served.status({"Host": "evil.example"}) == 421
    assert served.status({**host, "Origin": "http://evil.example"}) == 403
    assert served.status({**host, "Origin": "http://page.example"}, "OPTIONS") == 200
    print("wrong requests are refused")


def main():
    """Runs all checks; the exit status is 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    default = pathlib.Path(os.environ.get("NPUKIT_NPU", target / "release" / "npu"))
    parser.add_argument("--npu", type=pathlib.Path, default=default, help="the command to test (target/release/npu)")
    npu = parser.parse_args().npu.resolve()
    shared = pathlib.Path(os.environ.get("NPUKIT_SHARED", ROOT.parent / "shared")) / "golden/llm/tiny/qwen3"
    if not shared.exists():
        sys.exit(f"error: there is no model at {shared}")
    with tempfile.TemporaryDirectory(prefix="npukit-") as scratch:
        folder = pathlib.Path(scratch)
        model = folder / "tiny"
        model.mkdir()
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            shutil.copy(shared / name, model)
        (model / "chat_template.jinja").write_text(TEMPLATE)
        answers = expected(npu, model, folder)
        with Served(npu, model, "--queue", "200", "--origin", "http://page.example") as served:
            check_clients(served, answers)
            check_leaving(served)
            check_refusals(served)


if __name__ == "__main__":
    main()
