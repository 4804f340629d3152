"""Instructions of the TCU: encoding for the driver, and checks of programs."""

from enum import IntEnum

import numpy as np

from .artifact import RESERVED_VECTORS, Arch
from .errors import ArgumentError, ProgramError

DRAM0_TO_LOCAL, LOCAL_TO_DRAM0, DRAM1_TO_LOCAL, LOCAL_TO_DRAM1 = range(4)
_DATA_MOVE, _CONFIGURE, _LOAD_LUT, _LAST = 0x2, 0xF, 0x5, 0x5
_KINDS = (0x0, 0x1, 0x2, 0x3, 0xC, 0xD, 0xF)


class Register(IntEnum):
    """A configuration register. The registers cannot be read."""

    DRAM0_OFFSET = 0x0
    DRAM0_CACHE = 0x1
    DRAM1_OFFSET = 0x4
    DRAM1_CACHE = 0x5
    TIMEOUT = 0x8
    TRACEPOINT = 0x9
    PROGRAM_COUNTER = 0xA
    SAMPLE_INTERVAL = 0xB


_LARGEST = {
    Register.DRAM0_OFFSET: 0xFFFF,
    Register.DRAM0_CACHE: 0xF,
    Register.DRAM1_OFFSET: 0xFFFF,
    Register.DRAM1_CACHE: 0xF,
    Register.TIMEOUT: 0xFFFF,
    Register.TRACEPOINT: 0xFFFFFFF,
    Register.PROGRAM_COUNTER: 0xFFFFFFF,
    Register.SAMPLE_INTERVAL: 0xFFFF,
}


def move(arch: Arch, kind: int, local: int, dram: int, size: int) -> bytes:
    """Encodes a DataMove of `size` vectors without strides."""
    depth = arch.dram0_depth if kind <= LOCAL_TO_DRAM0 else arch.dram1_depth
    if size < 1 or local < 0 or dram < 0 or local + size > arch.local_depth or dram + size > depth:
        raise ArgumentError(f"a DataMove of {size} vectors, local {local}, DRAM {dram}, ends beyond a memory")
    fields = arch.fields
    word = local | dram << fields.operand1 | (size - 1) << fields.operand2
    return (word | (_DATA_MOVE << 4 | kind) << fields.header).to_bytes(fields.bytes, "little")


def configure(arch: Arch, register: Register, value: int) -> bytes:
    """Encodes a Configure."""
    fields = arch.fields
    largest = min(_LARGEST[register], (1 << min(28, fields.header - 4)) - 1)
    if not 0 <= value <= largest:
        raise ArgumentError(f"register {register.name} holds 0 to {largest}, not {value}")
    return (value << 4 | register | (_CONFIGURE << 4) << fields.header).to_bytes(fields.bytes, "little")


def no_op(arch: Arch) -> bytes:
    """Encodes a NoOp."""
    return bytes(arch.fields.bytes)


def _field(words: np.ndarray, first: int, width: int) -> np.ndarray:
    """Reads a field of every instruction (`[instructions, bytes]`), at most 57 bits wide."""
    from_byte = first // 8
    to_byte = (first + width + 7) // 8
    value = np.zeros(len(words), dtype=np.uint64)
    for byte in range(from_byte, min(to_byte, words.shape[1])):
        value |= words[:, byte].astype(np.uint64) << np.uint64(8 * (byte - from_byte))
    return (value >> np.uint64(first % 8)) & np.uint64((1 << width) - 1)


def check_program(arch: Arch, program: bytes) -> None:
    """Raises an error for programs that the C driver refuses: see npu_tcu_check_program."""
    fields = arch.fields
    if len(program) % fields.bytes:
        raise ProgramError(f"the program ends inside instruction {len(program) // fields.bytes}")
    words = np.frombuffer(program, dtype=np.uint8).reshape(-1, fields.bytes)
    header = words[:, -1].astype(np.int64)
    opcode, flags = header >> 4, header & 0xF
    last_opcode = _LAST if arch.lookup_tables else _LOAD_LUT - 1
    _refuse((opcode > last_opcode) & (opcode != _CONFIGURE), opcode, "is an opcode that the instance does not have")
    moves = opcode == _DATA_MOVE
    _refuse(moves & ~np.isin(flags, _KINDS), flags, "is a DataMove of a kind that there is not")
    first = _field(words, fields.operand1, fields.address1)
    stride = _field(words, fields.operand1 + fields.address1, fields.stride1)
    last = first + (_field(words, fields.operand2, fields.value2) << stride)
    for kinds, depth, name in (
        ((DRAM0_TO_LOCAL, LOCAL_TO_DRAM0), arch.dram0_depth - RESERVED_VECTORS, "DRAM0, whose last two are the driver's"),
        ((DRAM1_TO_LOCAL, LOCAL_TO_DRAM1), arch.dram1_depth, "DRAM1"),
    ):
        _refuse(moves & np.isin(flags, kinds) & (last >= np.uint64(depth)), last, f"is a vector beyond {name}")
    offsets = np.isin(_field(words, 0, 4), (Register.DRAM0_OFFSET, Register.DRAM1_OFFSET))
    _refuse((opcode == _CONFIGURE) & offsets, header, "is a Configure of an offset, which is the driver's")


def _refuse(wrong: np.ndarray, value: np.ndarray, reason: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        raise ProgramError(f"instruction {places[0]}: {int(value[places[0]]):#x} {reason}")
