"""Scalars: conversion between real values and raw fixed-point integers, and their bytes.

The rule is the compiler's: floor(x * 2^point + 1/2), saturated; NaN becomes 0. Source: the TCU specification, 5.1 and
5.4.
"""

from typing import NamedTuple, Tuple

import numpy as np


class Format(NamedTuple):
    """A fixed-point format: total bits, fraction bits, and the storage of a scalar."""

    width: int
    point: int
    stored: str

    @property
    def bytes(self) -> int:
        """Size of a scalar in memory and files, in bytes."""
        return np.dtype(self.stored).itemsize

    @property
    def largest(self) -> int:
        """Largest raw integer."""
        return (1 << (self.width - 1)) - 1

    @property
    def smallest(self) -> int:
        """Smallest raw integer."""
        return -self.largest - 1

    def from_real(self, values: np.ndarray) -> Tuple[np.ndarray, int]:
        """Converts real values to raw integers (int32); also returns the number of values that did not fit."""
        exact = np.asarray(values, dtype=np.float32).astype(np.float64)
        shifted = np.floor(exact * float(1 << self.point) + 0.5)
        unknown = np.isnan(shifted)
        unfit = unknown | (shifted > self.largest) | (shifted < self.smallest)
        raw = np.clip(np.where(unknown, 0.0, shifted), self.smallest, self.largest)
        return raw.astype(np.int64).astype(np.int32), int(np.count_nonzero(unfit))

    def to_real(self, raw: np.ndarray) -> np.ndarray:
        """Converts raw integers to real values (float32)."""
        return np.asarray(raw).astype(np.float32) / np.float32(1 << self.point)

    def to_bytes(self, raw: np.ndarray) -> bytes:
        """Converts raw integers to little-endian bytes; 18 bits in four bytes are padded with zeros."""
        mask = (1 << self.width) - 1
        return (np.asarray(raw).astype(np.int64) & mask).astype(self.stored).tobytes()

    def from_bytes(self, data: bytes) -> np.ndarray:
        """Converts bytes to raw integers (int32); only the low `width` bits are used."""
        bits = np.frombuffer(data, dtype=self.stored).astype(np.int64) & ((1 << self.width) - 1)
        return np.where(bits > self.largest, bits - (1 << self.width), bits).astype(np.int32)


FORMATS = {
    "FP8BP4": Format(8, 4, "<u1"),
    "FP16BP8": Format(16, 8, "<u2"),
    "FP18BP10": Format(18, 10, "<u4"),
    "FP32BP16": Format(32, 16, "<u4"),
}
