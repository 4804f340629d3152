"""Tests `npu debug --dap` with a third-party client, `dap-python`. It validates every answer with its models of the
protocol, and steps through a program of each target like an editor.

Main function: `main`. The client is installed by `requirements-debug.txt`.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import dap
import dap.handler

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAMS = {
    "tcu:cmoda7": (
        ".data dram0[0], 1.5, 2, 3, 4\n"
        "    datamove local[0] <- dram0[0], 1\n"
        "    datamove dram0[1] <- local[0], 1\n",
        "dram0[1]",
        "1.5 2 3 4",
    ),
    "opu": (
        ".data features.0[0], 3, -4\n"
        "    @shape.ifm [1,1,16]\n"
        "    @mem.ifm 0, 1\n"
        "    ld.ifm 0\n"
        "    end\n",
        "features.0[0]",
        None,
    ),
    "pccx": (
        "entry: memset cache=fmap, idx=3, a=1, b=1, c=8\n    kick\n",
        "fmap_shape[3]",
        "1 1 8",
    ),
    "drra": ("cell (row=0, col=0)\nwait(cycle=3)\nhalt()\n", "input[0]", None),
}


class Handler(dap.handler.Handler):
    """The client's decoder, except for answers without a body, which it does not support."""

    def handle_response(self, response):
        """Validates an answer with the model of its body; an answer without a body is returned unchanged."""
        if response.success and not response.body:
            assert self.client._pending_requests.pop(response.request_seq).command == response.command
            return response
        return super().handle_response(response)

    def handle_event(self, event):
        """Validates an event with its model, which has texts for the protocol's breakpoint numbers."""
        if event.body and "hitBreakpointIds" in event.body:
            assert all(isinstance(number, int) for number in event.body["hitBreakpointIds"])
            event.body["hitBreakpointIds"] = [str(number) for number in event.body["hitBreakpointIds"]]
        return super().handle_event(event)


class Editor:
    """A client connected to the command; requests wait for their answers."""

    def __init__(self, command):
        self.server = subprocess.Popen(
            [command, "debug", "--dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.client = dap.Client("npu")
        self.client.handler = Handler(self.client)
        self.bodies = []

    def until(self, name):
        """Returns the first message of a model; earlier messages are kept."""
        while True:
            for place, body in enumerate(self.bodies):
                if type(body).__name__ == name:
                    return self.bodies.pop(place)
            self.server.stdin.write(self.client.send())
            self.server.stdin.flush()
            data = os.read(self.server.stdout.fileno(), 1 << 16)
            assert data, f"the server has gone before {name}"
            for body in self.client.receive(data):
                assert type(body).__name__ != "ErrorResponse", f"refused: {body}"
                self.bodies.append(body)


def go_through(command, target, text, range_, expected):
    """Steps through a program like an editor; failures are assertions."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "p.s"
        path.write_text(text)
        editor = Editor(command)
        client, until = editor.client, editor.until
        assert until("Initialized").supportsStepBack
        client.send_request("launch", {"program": str(path), "target": target, "stopOnEntry": True})
        until("InitializedEvent")
        # The client's model of a breakpoint requires a number, which an unset one lacks.
        written = enumerate(text.split("\n"), 1)
        lines = [number for number, line in written if line and not line.startswith((".", "cell"))]
        source = {"name": "p.s", "path": str(path)}
        client.set_breakpoints(source, [{"line": line} for line in lines])
        points = until("SetBreakpointsResponse").breakpoints
        assert points and all(point.verified for point in points), points
        client.set_breakpoints(source, [])
        assert not until("SetBreakpointsResponse").breakpoints
        client.configuration_done()
        assert until("StoppedEvent").reason == "entry"
        client.threads()
        assert until("ThreadsResponse").threads
        client.stack_trace(1)
        frame = until("StackTraceResponse").stackFrames[0]
        client.scopes(frame.id)
        for scope in until("ScopesResponse").scopes:
            client.variables(scope.variablesReference)
            until("VariablesResponse")
        client.data_breakpoint_info(range_)
        assert until("DataBreakpointInfoResponse").dataId == range_
        client.set_data_breakpoints([{"dataId": range_, "accessType": "write"}])
        assert until("SetDataBreakpointsResponse").breakpoints[0].verified
        client.set_instruction_breakpoints([{"instructionReference": "0x0"}])
        until("SetInstructionBreakpointsResponse")
        client.continue_(1)
        until("StoppedEvent")
        client.step_back(1)
        until("StoppedEvent")
        client.reverse_continue(1)
        until("StoppedEvent")
        client.send_request("evaluate", {"expression": "goto end"})
        until("EvaluateResponse")
        assert until("StoppedEvent").reason == "pause"
        client.send_request("evaluate", {"expression": range_, "context": "watch"})
        shown = until("EvaluateResponse").result
        assert expected is None or expected in shown, shown
        client.read_memory(range_, 2)
        assert until("ReadMemoryResponse").data
        client.disassemble("0x0", instruction_count=2)
        assert len(until("DisassembleResponse").instructions) == 2
        client.disconnect()
        until("TerminatedEvent")
        editor.server.stdin.close()
        assert editor.server.wait(timeout=60) == 0


# Number of instructions of a program that is interrupted.
LONG = 100_000


def interrupt(command):
    """Interrupts a running program; failures are assertions."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "long.s"
        path.write_text("    datamove local[0] <- dram0[0], 1\n" * LONG)
        editor = Editor(command)
        client, until = editor.client, editor.until
        until("Initialized")
        client.send_request("launch", {"program": str(path), "target": "tcu:cmoda7", "stopOnEntry": True})
        until("InitializedEvent")
        # A condition that never holds, so that every step is checked.
        client.set_data_breakpoints([{"dataId": "local[0]", "accessType": "write", "condition": "> 100"}])
        until("SetDataBreakpointsResponse")
        client.configuration_done()
        assert until("StoppedEvent").reason == "entry"
        for _ in range(2):
            client.continue_(1)
            client.pause(1)
            assert until("StoppedEvent").reason == "pause"
            client.stack_trace(1)
            name = until("StackTraceResponse").stackFrames[0].name
            assert not name.startswith("end"), name
        client.disconnect()
        until("TerminatedEvent")
        editor.server.stdin.close()
        assert editor.server.wait(timeout=60) == 0


def main():
    """Steps through a program of each target; stops at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "npu"
    parser.add_argument("--npu", type=pathlib.Path, default=default, help="the command to test (target/release/npu)")
    command = parser.parse_args().npu
    for target, (text, range_, expected) in PROGRAMS.items():
        go_through(command, target, text, range_, expected)
        print(f"{target}: stepped through a program like an editor")
    interrupt(command)
    print("tcu:cmoda7: interrupted a running program")


if __name__ == "__main__":
    sys.exit(main())
