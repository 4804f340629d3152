"""Circuit of an instance, as `npu rtl TARGET -o FOLDER` writes it: its files, ports and parameters."""

import re
from dataclasses import dataclass
from pathlib import Path

# Names of the top's clock and reset, of which a circuit has one each.
CLOCKS = ("clk_i", "clock")
RESETS = ("rst_i", "reset")

_PORT = re.compile(r"^\s*(input|output)\s+logic\s+(?:\[(\d+):0\]\s*)?(\w+),?\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"\.([A-Z][A-Z0-9_]*)\((?:\d+'d)?(\d+)\)")


class CircuitError(Exception):
    """Folder that does not contain a circuit of `npu rtl tcu:...`."""


@dataclass(frozen=True)
class Circuit:
    """Circuit of an instance."""

    top: str
    sources: tuple
    ports: dict  # direction and width in bits, by name
    parameters: dict  # integers, by name

    @classmethod
    def read(cls, folder):
        """Reads the folder that `npu rtl` wrote."""
        folder = Path(folder).resolve()
        lists = sorted(folder.glob("*.f"))
        if len(lists) != 1:
            raise CircuitError(f"{folder}: contains {len(lists)} file lists (*.f), expected the one of `npu rtl tcu:X -o {folder}`")
        names = [line.strip() for line in lists[0].read_text().splitlines() if line.strip() and not line.startswith("//")]
        top = f"top_{lists[0].stem}"
        if f"{top}.sv" not in names:
            raise CircuitError(f"{lists[0]}: does not list {top}.sv")
        text = (folder / f"{top}.sv").read_text()
        ports = {name: (direction, int(high or 0) + 1) for direction, high, name in _PORT.findall(text)}
        parameters = {name: int(value) for name, value in _PARAMETER.findall(text)}
        circuit = cls(top, tuple(folder / name for name in names), ports, parameters)
        for wanted in ("ARRAY_SIZE", "AXI_BITS", "SLOT_BYTES", "DRAM0_DEPTH", "DRAM1_DEPTH"):
            if wanted not in parameters:
                raise CircuitError(f"{folder / top}.sv: has no parameter {wanted}; only circuits of tcu are supported")
        circuit.clock, circuit.reset  # both must exist
        return circuit

    def _one_of(self, names):
        for name in names:
            if name in self.ports:
                return name
        raise CircuitError(f"{self.top}: has no port {' or '.join(names)}")

    @property
    def clock(self):
        """Name of the clock's port."""
        return self._one_of(CLOCKS)

    @property
    def reset(self):
        """Name of the reset's port: synchronous, active high."""
        return self._one_of(RESETS)

    def width(self, port):
        """Width of a port in bits."""
        if port not in self.ports:
            raise CircuitError(f"{self.top}: has no port {port}")
        return self.ports[port][1]

    @property
    def vector_bytes(self):
        """Size of a vector in DRAM, in bytes."""
        return self.parameters["ARRAY_SIZE"] * self.parameters["SLOT_BYTES"]

    def bank_bytes(self, bank):
        """Size of DRAM0 or DRAM1, in bytes."""
        return self.parameters[f"DRAM{bank}_DEPTH"] * self.vector_bytes
