"""The TCU on a board: `Tcu`. It follows drivers/c/src/tcu.c step by step."""

from typing import Any, Callable, Dict, Mapping, Optional, TypeVar, cast

import numpy as np

from . import code
from .artifact import RESERVED_VECTORS, Model, Tensor, tensor_of
from .board import Board, Region
from .code import Register
from .dma import TO_DEVICE, TO_MEMORY, Deadline, Dma
from .errors import BREAKS, ArgumentError, DataError, StateError, UnsupportedError

__all__ = ["Register", "Tcu"]

_WINDOW = 1 << 16
_SAMPLE_BYTES = 8
_OFFSETS = (Register.DRAM0_OFFSET, Register.DRAM1_OFFSET)

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _talks(method: _Method) -> _Method:
    """Decorates a method that needs an open board. After a bus failure, the content of the unit is unknown."""

    def wrapper(self: "Tcu", *arguments: Any, **named: Any) -> Any:
        if not self._open:
            raise StateError("the board failed: reset the unit, which only the platform can, and make a new Tcu")
        try:
            return method(self, *arguments, **named)
        except BREAKS:
            self._open = False
            raise

    wrapper.__doc__ = method.__doc__
    wrapper.__name__ = method.__name__
    return cast(_Method, wrapper)


class Tcu:
    """A board in use. Creating one resets the DMA engines, configures the unit and checks that it moves a vector."""

    def __init__(self, board: Board) -> None:
        self.board, self.arch = board, board.arch
        _check_board(board)
        self._instructions = Dma(board, board.instruction_dma, "instruction DMA", board.stream_bytes)
        self._samples: Optional[Dma] = None
        if board.sample_dma is not None:
            self._samples = Dma(board, board.sample_dma, "sample DMA", _SAMPLE_BYTES)
        self._staged = bytearray()
        self._model: Optional[Model] = None
        self._constants_are_local = False
        self._interval = 0
        self._sample_bytes = 0
        self._sample_transfer = 0
        self.samples_lost = False
        self.written: Dict[Register, int] = {}
        self._open = True
        self._begin()

    @_talks
    def _begin(self) -> None:
        self._instructions.reset()
        if self._samples:
            self._samples.reset()
        self._prepare_probe()
        self._configure(Register.DRAM0_OFFSET, self.board.dram0.address // _WINDOW)
        self._configure(Register.DRAM0_CACHE, self.board.cache0)
        self._configure(Register.DRAM1_OFFSET, self.board.dram1.address // _WINDOW)
        self._configure(Register.DRAM1_CACHE, self.board.cache1)
        self._configure(Register.TIMEOUT, self.board.decoder_timeout)
        self._configure(Register.SAMPLE_INTERVAL, 0)
        self._finish()

    # ---- programs ----

    @_talks
    def load(self, model: Model) -> None:
        """Checks a program and writes its constants."""
        model.arch.check_same(self.arch)
        code.check_program(self.arch, model.program)
        self._model, self._constants_are_local = None, False
        self.board.write_memory(self.board.dram1.address, model.constants)
        self._model = model

    def run(self, inputs: Mapping[str, np.ndarray], raw: bool = False) -> Dict[str, np.ndarray]:
        """Writes all inputs, runs the program and returns all outputs: real values, or integers if `raw`."""
        model = self._loaded()
        missing = set(model.inputs) - set(inputs)
        if missing:
            raise ArgumentError(f"inputs are missing: {', '.join(sorted(missing))}")
        for name, values in inputs.items():
            self.write(name, values)
        self.execute()
        return {name: self.read(name, raw) for name in model.outputs}

    @_talks
    def write(self, name: str, values: np.ndarray) -> int:
        """Writes an input. Real values are divided by two to the power of its exponent and converted; integers are raw.
        Its shape is the model's, or `[vectors, lanes]` if the artifact does not have a layout. Returns the number of
        values that did not fit.
        """
        tensor = tensor_of(self._loaded().inputs, name, "input")
        values, form = np.asarray(values), self.arch.format
        shape = _shape(tensor, self.arch.array_size)
        if values.size != int(np.prod(shape, dtype=object)):
            raise ArgumentError(f"input `{name}`: {values.size} scalars, must be of shape {shape}")
        saturated = 0
        if values.dtype.kind == "f":
            raw, saturated = form.from_real(np.ldexp(values.astype(np.float32), -_exponent(tensor)))
        elif values.dtype.kind in "iu":
            raw = values
            if values.size and (int(values.min()) < form.smallest or int(values.max()) > form.largest):
                raise ArgumentError(f"input `{name}`: raw integers are {form.smallest} to {form.largest}")
        else:
            raise ArgumentError(f"input `{name}`: elements of type {values.dtype}, must be floats or integers")
        vectors = tensor.layout.pack(raw, self.arch.array_size) if tensor.layout else raw
        data, at = form.to_bytes(vectors), 0
        for piece in tensor.pieces:
            count = piece.size * self.arch.vector_bytes
            self.board.write_memory(self._dram0(piece.base), data[at : at + count])
            at += count
        return saturated

    @_talks
    def execute(self) -> None:
        """Runs the loaded program to its end."""
        model = self._loaded()
        self._prepare_probe()
        if model.constants_to_local and not self._constants_are_local and model.constants_size:
            self._stage(code.move(self.arch, code.DRAM1_TO_LOCAL, 0, 0, model.constants_size))
        self._constants_are_local = False
        self._sample_bytes, self.samples_lost = 0, False
        if self._interval:
            self._arm_samples()
            self._configure(Register.SAMPLE_INTERVAL, self._interval)
        # Start of the samples.
        self._configure(Register.PROGRAM_COUNTER, 1)
        self._stage(model.program)
        self._finish()
        if self._interval:
            self._end_samples()
        # The probe has overwritten the last vector of local memory.
        self._constants_are_local = model.constants_size < self.arch.local_depth

    @_talks
    def read(self, name: str, raw: bool = False) -> np.ndarray:
        """Reads an output: float32, or int32 if `raw`."""
        tensor = tensor_of(self._loaded().outputs, name, "output")
        size = self.arch.vector_bytes
        parts = [self.board.read_memory(self._dram0(piece.base), piece.size * size) for piece in tensor.pieces]
        vectors = self.arch.format.from_bytes(b"".join(parts)).reshape(-1, self.arch.array_size)
        values = tensor.layout.unpack(vectors, self.arch.array_size) if tensor.layout else vectors
        if raw:
            return np.ascontiguousarray(values)
        return np.ldexp(self.arch.format.to_real(values), _exponent(tensor))

    def dump(self, path: str, raw: bool = False) -> None:
        """Writes all outputs as `.npz`, for `npu run --compare=FILE`."""
        # A name may contain a slash, which is not allowed in a member of an archive.
        outputs = {name.replace("/", "_"): self.read(name, raw) for name in self._loaded().outputs}
        np.savez(path, **outputs)

    # ---- registers and samples ----

    @_talks
    def configure(self, register: Register, value: int) -> None:
        """Writes a configuration register and waits until it is written."""
        if register in _OFFSETS or register == Register.SAMPLE_INTERVAL:
            raise ArgumentError(f"register {Register(register).name} is reserved for the driver")
        self._prepare_probe()
        self._configure(Register(register), value)
        self._finish()

    def status(self) -> Dict[str, int]:
        """Returns the known state of the registers: the values written to the unit's, and the status of the DMA engines."""
        status = {register.name.lower(): value for register, value in self.written.items()}
        status["instruction_dma"] = self._instructions.status(TO_DEVICE)
        if self._samples:
            status["sample_dma"] = self._samples.status(TO_MEMORY)
        return status

    def sample(self, interval: int) -> None:
        """Takes a sample every `interval` cycles during the next runs; 0 disables samples."""
        if interval and self._samples is None:
            raise UnsupportedError("the board has no sample port")
        if not 0 <= interval <= 0xFFFF:
            raise ArgumentError(f"the interval must be 0 to 65535 cycles, not {interval}")
        self._interval = interval

    @_talks
    def samples(self) -> np.ndarray:
        """Returns the samples of the last run (uint64). Their `tofile` writes the file for `npu time --from-samples`."""
        data = self.board.read_memory(self.board.samples.address, self._sample_bytes) if self._sample_bytes else b""
        words = np.frombuffer(data, dtype="<u8")
        damaged = np.flatnonzero(words >> np.uint64(48))
        if len(damaged):
            raise DataError(f"sample {damaged[0]}: {int(words[damaged[0]]):#018x}, bits 48 to 63 of a sample must be zero")
        return words

    # ---- the stream ----

    def _loaded(self) -> Model:
        if self._model is None:
            raise StateError("no program is loaded")
        return self._model

    def _dram0(self, vector: int) -> int:
        return self.board.dram0.address + vector * self.arch.vector_bytes

    def _configure(self, register: Register, value: int) -> None:
        self._stage(code.configure(self.arch, register, value))
        self.written[register] = value

    def _stage(self, data: bytes) -> None:
        self._staged += data

    def _finish(self) -> None:
        """Sends the staged instructions, followed by the probe, and waits until they are complete."""
        local, depth = self.arch.local_depth - 1, self.arch.dram0_depth
        self._stage(code.move(self.arch, code.DRAM0_TO_LOCAL, local, depth - 1, 1))
        self._stage(code.move(self.arch, code.LOCAL_TO_DRAM0, local, depth - 2, 1))
        while len(self._staged) % self.board.stream_bytes:
            self._stage(code.no_op(self.arch))
        stream, self._staged = bytes(self._staged), bytearray()
        most = min(self.board.staging.bytes, self.board.max_transfer)
        most -= most % self.board.stream_bytes
        for at in range(0, len(stream), most):
            self._send(stream[at : at + most])
        self._wait_for_probe()

    def _send(self, data: bytes) -> None:
        self.board.write_memory(self.board.staging.address, data)
        self._instructions.start(TO_DEVICE, self.board.staging.address, len(data))
        deadline = Deadline(self.board)
        while not self._instructions.ended(TO_DEVICE):
            self._take_samples()
            deadline.check("the unit does not take the instructions: one of them may hang it; it did not")
        self._take_samples()

    def _prepare_probe(self) -> None:
        self._staged.clear()
        size, last = self.arch.vector_bytes, self.arch.dram0_depth - 1
        self.board.write_memory(self._dram0(last - 1), b"\xff" * size + b"\x00" * size)

    def _wait_for_probe(self) -> None:
        address, size = self._dram0(self.arch.dram0_depth - RESERVED_VECTORS), self.arch.vector_bytes
        deadline = Deadline(self.board)
        while any(self.board.read_memory(address, size)):
            self._take_samples()
            deadline.check(f"all instructions were accepted, but the vector moved last does not arrive at {address:#x}")

    # ---- samples ----

    def _arm_samples(self) -> None:
        block = self.board.sample_block * _SAMPLE_BYTES
        self._sample_transfer = block
        if self.board.samples.bytes - self._sample_bytes < block:
            self._sample_transfer, self.samples_lost = 0, True
        elif self._samples:
            self._samples.start(TO_MEMORY, self.board.samples.address + self._sample_bytes, block)

    def _take_samples(self) -> bool:
        """Takes a finished block of samples."""
        if not self._sample_transfer or self._samples is None or not self._samples.ended(TO_MEMORY):
            return False
        count = self._samples.received()
        if not 0 < count <= self._sample_transfer or count % _SAMPLE_BYTES:
            raise DataError(f"a block of samples of {count} bytes, but at most {self._sample_transfer} were requested")
        self._sample_bytes += count
        self._arm_samples()
        return True

    def _end_samples(self) -> None:
        """Waits for the current block, which contains the program's end, and stops."""
        deadline = Deadline(self.board)
        while self._sample_transfer and not self._take_samples():
            deadline.check("a block of samples does not end")
        self._sample_transfer = 0
        self._prepare_probe()
        self._configure(Register.SAMPLE_INTERVAL, 0)
        self._finish()
        if self._samples:
            self._samples.reset()


def _shape(tensor: Tensor, lanes: int) -> Any:
    return tensor.layout.shape if tensor.layout else (tensor.vectors, lanes)


def _exponent(tensor: Tensor) -> int:
    return tensor.layout.exponent if tensor.layout else 0


def _check_bank(name: str, bank: Region, depth: int, board: Board) -> None:
    need = depth * board.arch.vector_bytes
    if bank.address % _WINDOW or bank.bytes < need or bank.address + need > 1 << 32:
        raise ArgumentError(
            f"{name}: {bank.bytes} bytes at {bank.address:#x}; must begin at a multiple of 64 KiB "
            f"and hold {need} bytes below 2^32"
        )


def _check_board(board: Board) -> None:
    _check_bank("dram0", board.dram0, board.arch.dram0_depth, board)
    _check_bank("dram1", board.dram1, board.arch.dram1_depth, board)
    beat = board.stream_bytes
    if not 0 < beat <= 128 or beat & (beat - 1):
        raise ArgumentError(f"stream_bytes is {beat}, must be a power of two of at most 128")
    if min(board.staging.bytes, board.max_transfer) < beat or board.staging.address % beat:
        raise ArgumentError(f"staging: {board.staging} must hold a beat of {beat} bytes, and begin at one")
    block = board.sample_block * _SAMPLE_BYTES
    if board.sample_dma is not None and not 0 < block <= board.max_transfer:
        raise ArgumentError(f"sample_block is {board.sample_block}, must be at least 1 and at most one transfer")
    regions = [board.dram0, board.dram1, board.staging] + [board.samples] * (board.sample_dma is not None)
    regions.sort()
    for low, high in zip(regions, regions[1:]):
        if low.address + low.bytes > high.address:
            raise ArgumentError(f"two regions of the board overlap: {low} and {high}")
