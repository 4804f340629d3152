"""Files of the TCU: instances (`.tarch`), manifests (`.tmodel`) with the files that they name, and layouts (`.npukit.json`)."""

import hashlib
import json
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from .errors import ArchitectureError, ArgumentError, ManifestError, UnsupportedError
from .numbers import FORMATS, Format

# Vectors at the end of DRAM0, for the probe after a program.
RESERVED_VECTORS = 2
_MOST = 1 << 32
_MOST_EXPONENT = 64


def _fail(file: str, key: str, reason: str) -> ManifestError:
    return ManifestError(f"{file}: key `{key}` {reason}")


def _take(file: str, entry: Any, key: str, kind: type) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise _fail(file, key, "is missing")
    value = entry[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _fail(file, key, f"must be of type {kind.__name__}, is {value!r}")
    return value


def _number(file: str, entry: Any, key: str, least: int = 0, most: int = _MOST) -> int:
    value = _take(file, entry, key, int)
    if not least <= value <= most:
        raise _fail(file, key, f"is {value}, must be {least} to {most}")
    return value


def _bits(n: int) -> int:
    """Number of bits of n - 1."""
    return (n - 1).bit_length()


class Arch(NamedTuple):
    """An instance. Depths are in vectors of `array_size` scalars."""

    data_type: str
    array_size: int
    dram0_depth: int
    dram1_depth: int
    local_depth: int
    accumulator_depth: int
    simd_registers_depth: int
    stride0_depth: int
    stride1_depth: int
    lookup_tables: int

    @classmethod
    def read(cls, path: str) -> "Arch":
        """Reads the instance of a `.tarch` file."""
        return cls.parse(os.path.basename(path), _json(path, _bytes(path)))

    @classmethod
    def parse(cls, file: str, entry: Any) -> "Arch":
        """Reads the instance of a JSON object; `file` is for errors."""
        data_type = _take(file, entry, "data_type", str)
        if data_type == "FLOAT32":
            raise UnsupportedError(f"{file}: no circuit supports FLOAT32")
        if data_type not in FORMATS:
            raise _fail(file, "data_type", f"is `{data_type}`, must be one of {', '.join(FORMATS)}")
        if entry.get("number_of_threads", 1) != 1:
            raise UnsupportedError(f"{file}: no circuit supports two threads")
        if entry.get("reading", "released") != "released":
            raise UnsupportedError(f"{file}: no circuit supports this reading of the instruction set")
        tables = _number(file, entry, "lookup_tables", 0, 16) if "lookup_tables" in entry else 0
        return cls(
            data_type=data_type,
            array_size=_number(file, entry, "array_size", 1, 1024),
            dram0_depth=_number(file, entry, "dram0_depth", 4),
            dram1_depth=_number(file, entry, "dram1_depth", 1),
            local_depth=_number(file, entry, "local_depth", 1),
            accumulator_depth=_number(file, entry, "accumulator_depth", 1),
            simd_registers_depth=_number(file, entry, "simd_registers_depth", 0, 16),
            stride0_depth=_number(file, entry, "stride0_depth", 1, 32),
            stride1_depth=_number(file, entry, "stride1_depth", 1, 32),
            lookup_tables=tables,
        )

    def check_same(self, board: "Arch") -> None:
        """Raises an error if a program is for an instance other than the board's."""
        for key, ours, theirs in zip(self._fields, self, board):
            if ours != theirs:
                raise ArchitectureError(f"the program was compiled for `{key}` {ours}, the board has {theirs}")

    @property
    def format(self) -> Format:
        """Number format of the scalars."""
        return FORMATS[self.data_type]

    @property
    def vector_bytes(self) -> int:
        """Size of a vector in DRAM, in bytes."""
        return self.array_size * self.format.bytes

    @property
    def fields(self) -> "Fields":
        """Positions of an instruction's fields."""
        return Fields.of(self)


class Fields(NamedTuple):
    """Positions and widths in bits of an instruction's fields. Source: specification, 3.1 and 3.2."""

    address0: int
    stride0: int
    operand1: int
    address1: int
    stride1: int
    operand2: int
    value2: int
    header: int

    @classmethod
    def of(cls, arch: Arch) -> "Fields":
        """Returns the fields of an instance."""
        local, accumulator = _bits(arch.local_depth), _bits(arch.accumulator_depth)
        dram0, dram1 = _bits(arch.dram0_depth), _bits(arch.dram1_depth)
        simd = (5 if arch.lookup_tables else 4) + 3 * _bits(arch.simd_registers_depth + 1)
        table = _bits(arch.lookup_tables + 1) if arch.lookup_tables else 0
        stride0, stride1 = _bits(arch.stride0_depth), _bits(arch.stride1_depth)
        address0 = max(local, accumulator)
        address1 = max(address0, dram0, dram1)
        value2 = max(min(local, accumulator), min(local, dram0), min(local, dram1), simd)
        operand1 = _whole(address0 + stride0)
        operand2 = operand1 + _whole(max(address1 + stride1, table))
        return cls(address0, stride0, operand1, address1, stride1, operand2, value2, operand2 + _whole(value2))

    @property
    def bytes(self) -> int:
        """Size of an instruction in bytes."""
        return self.header // 8 + 1


def _whole(bits: int) -> int:
    return (bits + 7) // 8 * 8


class Piece(NamedTuple):
    """A run of vectors of DRAM0."""

    base: int
    size: int


class Layout(NamedTuple):
    """Layout of a tensor of the model in vectors. Source: specification, 6.3."""

    shape: Sequence[int]
    perm: Sequence[int]
    channels: int
    exponent: int = 0
    """Memory holds the model's value divided by two to this power."""

    def vectors(self, lanes: int) -> int:
        """Number of vectors of the tensor."""
        return int(np.prod(self.shape, dtype=object)) // self.channels * -(-self.channels // lanes)

    def pack(self, raw: np.ndarray, lanes: int) -> np.ndarray:
        """Converts a tensor in the model's shape to vectors (`[vectors, lanes]`); unused lanes are zero."""
        rows = raw.reshape(self.shape).transpose(self.perm).reshape(-1, self.channels)
        rows = np.pad(rows, ((0, 0), (0, -self.channels % lanes)))
        return rows.reshape(-1, lanes)

    def unpack(self, vectors: np.ndarray, lanes: int) -> np.ndarray:
        """Converts vectors to the tensor in the model's shape."""
        padded = self.channels + -self.channels % lanes
        rows = vectors.reshape(-1, padded)[:, : self.channels]
        packed = rows.reshape([self.shape[axis] for axis in self.perm])
        return packed.transpose(np.argsort(self.perm))


class Tensor(NamedTuple):
    """An input or output: its place in memory, and its layout if known."""

    pieces: List[Piece]
    layout: Optional[Layout]

    @property
    def vectors(self) -> int:
        """Number of vectors of all pieces."""
        return sum(piece.size for piece in self.pieces)


class Model:
    """An artifact: instance, program, constants, inputs and outputs."""

    def __init__(
        self,
        name: str,
        arch: Arch,
        program: bytes,
        constants: bytes,
        constants_to_local: bool,
        inputs: Dict[str, Tensor],
        outputs: Dict[str, Tensor],
    ) -> None:
        self.name = name
        self.arch = arch
        self.program = program
        self.constants = constants
        self.constants_to_local = constants_to_local
        self.inputs = inputs
        self.outputs = outputs

    @property
    def constants_size(self) -> int:
        """Number of vectors of constants."""
        return len(self.constants) // self.arch.vector_bytes

    @classmethod
    def read(cls, path: str) -> "Model":
        """Reads the artifact whose manifest, a `.tmodel`, is at `path`. Layouts and hashes are read from the
        `.npukit.json` next to it. Without one, inputs and outputs are plain rows of vectors.
        """
        file, folder = os.path.basename(path), os.path.dirname(path)
        manifest = _bytes(path)
        root = _json(file, manifest)
        arch = Arch.parse(file, _take(file, root, "arch", dict))
        sidecar = _sidecar(path)
        prog = _take(file, root, "prog", dict)
        program = _beside(file, folder, _take(file, prog, "file_name", str))
        size = _number(file, prog, "size")
        if size not in (0, len(program)):
            raise _fail(file, "prog.size", f"is {size}, but the file has {len(program)} bytes")
        to_local = root.get("load_consts_to_local", False)
        constants = _constants(file, folder, root, arch, to_local)
        model = cls(
            name=_take(file, root, "name", str),
            arch=arch,
            program=program,
            constants=constants,
            constants_to_local=bool(to_local),
            inputs=_tensors(file, root, "inputs", arch, sidecar),
            outputs=_tensors(file, root, "outputs", arch, sidecar),
        )
        _check_hashes(file, root, manifest, program, constants, sidecar)
        return model


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from error


def _json(file: str, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ManifestError(f"{file}: not JSON: {error}") from error


def _beside(file: str, folder: str, name: str) -> bytes:
    if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise _fail(file, "file_name", f"is {name!r}, must be the plain name of a file next to the manifest")
    return _bytes(os.path.join(folder, name))


def _sidecar(path: str) -> Optional[Any]:
    stem = path[: -len(".tmodel")] if path.endswith(".tmodel") else path
    other = stem + ".npukit.json"
    return _json(os.path.basename(other), _bytes(other)) if os.path.exists(other) else None


def _constants(file: str, folder: str, root: Any, arch: Arch, to_local: bool) -> bytes:
    entries = _take(file, root, "consts", list)
    if len(entries) != 1:
        raise _fail(file, "consts", f"has {len(entries)} entries, must have one")
    _number(file, entries[0], "base", 0, 0)
    most = min(arch.dram1_depth, arch.local_depth) if to_local else arch.dram1_depth
    size = _number(file, entries[0], "size", 0, most)
    data = _beside(file, folder, _take(file, entries[0], "file_name", str))
    if len(data) != size * arch.vector_bytes:
        raise _fail(file, "consts[0].size", f"is {size} vectors of {arch.vector_bytes} bytes, but the file has {len(data)} bytes")
    return data


def _tensors(file: str, root: Any, key: str, arch: Arch, sidecar: Optional[Any]) -> Dict[str, Tensor]:
    pieces: Dict[str, List[Piece]] = {}
    for entry in _take(file, root, key, list):
        base, size = _number(file, entry, "base"), _number(file, entry, "size", 1)
        if base + size > arch.dram0_depth - RESERVED_VECTORS:
            last = arch.dram0_depth - RESERVED_VECTORS - 1
            raise _fail(file, key, f"has vectors {base} to {base + size - 1}; legal for programs: 0 to {last}")
        pieces.setdefault(_take(file, entry, "name", str), []).append(Piece(base, size))
    layouts = _layouts(key, sidecar)
    tensors = {name: Tensor(found, layouts.get(name)) for name, found in pieces.items()}
    for name, tensor in tensors.items():
        if tensor.layout and tensor.layout.vectors(arch.array_size) != tensor.vectors:
            raise _fail(file, key, f"has {tensor.vectors} vectors of `{name}`, which differs from its layout")
    return tensors


def _layouts(key: str, sidecar: Optional[Any]) -> Dict[str, Layout]:
    file, layouts = ".npukit.json", {}
    for entry in _take(file, sidecar, key, list) if sidecar is not None else []:
        shape, perm = _take(file, entry, "model_shape", list), _take(file, entry, "perm", list)
        channels = _number(file, entry, "channels", 1)
        exponent = _number(file, entry, "exponent", -_MOST_EXPONENT, _MOST_EXPONENT) if "exponent" in entry else 0
        whole = all(isinstance(size, int) and size >= 0 for size in shape)
        if not whole or sorted(map(str, perm)) != sorted(map(str, range(len(shape)))):
            raise _fail(file, "perm", f"is {perm}, must be a permutation of the axes of {shape}")
        if int(np.prod(shape, dtype=object)) % channels:
            raise _fail(file, "channels", f"is {channels}, which does not divide a tensor of {shape}")
        layouts[_take(file, entry, "name", str)] = Layout(shape, perm, channels, exponent)
    return layouts


def _check_hashes(file: str, root: Any, manifest: bytes, program: bytes, constants: bytes, sidecar: Any) -> None:
    """Raises an error if the files belong to different compilations."""
    hashes = (sidecar or {}).get("sha256") or {}
    parts = {
        f"{root['name']}.tmodel": manifest,
        root["prog"]["file_name"]: program,
        root["consts"][0]["file_name"]: constants,
    }
    for name, data in parts.items():
        if name in hashes and hashes[name] != hashlib.sha256(data).hexdigest():
            raise ManifestError(f"{file}: `{name}` and the .npukit.json are of another compilation: compile again")


def tensor_of(tensors: Dict[str, Tensor], name: str, kind: str) -> Tensor:
    """Returns the tensor called `name`."""
    if name not in tensors:
        raise ArgumentError(f"the program has no {kind} `{name}`; available: {', '.join(tensors) or 'none'}")
    return tensors[name]
