"""Scalars of a TensorBoard event file, without TensorBoard.

The ``tensorboard`` package brings protobuf, gRPC, NumPy and a web server; what is needed of it is little. A file is a
row of TFRecords, each with a payload that is a protobuf message ``Event``::

    length (8 bytes, little-endian) · its checksum (4) · payload · its checksum (4)

    Event    1: wall_time (double) · 2: step (varint) · 5: Summary
    Summary  1: Value, repeated
    Value    1: tag (string) · 2: simple_value (float) · 8: TensorProto
    Tensor   1: dtype · 4: tensor_content (bytes) · 5: float_val · 6: double_val

The checksums are masked CRC-32C. That of a length is verified always: without it, a damaged length would be believed.
That of a payload is verified for those that are read, which are small; images, histograms and graphs are stepped over,
and a Python loop over their bytes would take minutes. Behind damage nothing can be found again, so what stands before
it is what there is; the same holds for the end of a file that is still being written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from gradcompat.diagnosis.metrics import choose, is_other_objective
from gradcompat.errors import Malformed
from gradcompat.model.environment import Location, Skipped

Point = tuple[dict[str, float], int]

_LENGTH = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")

# A step's scalars take some dozen bytes each, even if a tool writes hundreds of them as one event.
_LARGEST = 64 * 1024
_MOST_VALUES = 2_000  # of one event, and more or less of one step
_DT_FLOAT, _DT_DOUBLE = 1, 2


def matches(head: bytes) -> bool:
    """Whether a file that begins so is an event file: its first record is the event that names the file's version."""
    if len(head) < _LENGTH.size:
        return False
    length, checksum = _LENGTH.unpack_from(head)
    return length < 1024 and checksum == _masked_crc(head[:8]) and b"brain.Event:" in head[12 : 12 + length]


def read(file: BinaryIO, path: str) -> Iterator[Point | Skipped]:
    """The metrics of each step, in the order of the file, with the line 0; at the end a note on what could not be read.

    Raises:
        Malformed: if it is no event file.
    """
    start = file.read(1024)
    if not matches(start):
        raise Malformed("is not a TensorBoard event file", path=path)
    file.seek(0)
    current: int | None = None
    values: dict[str, float] = {}
    damage = None
    for record in _records(file):
        if isinstance(record, str):
            damage = record
            break
        if record is None:
            continue
        try:
            step, scalars = _event(record)
        except _Broken:
            damage = "an event in it is damaged"
            break
        if not scalars:
            continue
        if step != current:
            yield from _point(values, current)
            current, values = step, {}
        if len(values) < _MOST_VALUES:
            values.update(scalars)
    yield from _point(values, current)
    if damage is not None:
        yield Skipped(
            what="the rest of the event file", reason=damage, gap=True, location=Location(path=path, line=None)
        )


def _point(values: dict[str, float], step: int | None) -> Iterator[Point]:
    if step is None:
        return
    chosen = choose(values)
    if "loss" in chosen and is_other_objective(values):
        chosen["other_objective"] = 1.0
    if chosen.keys() - {"epoch", "step"}:
        chosen["step"] = float(step)
        yield chosen, 0


def _records(file: BinaryIO) -> Iterator[bytes | str | None]:
    """The payloads; None for one that is too large to be of interest; a sentence where nothing can follow."""
    while head := file.read(_LENGTH.size):
        if len(head) < _LENGTH.size:
            yield "it ends in the middle of a record"
            return
        length, checksum = _LENGTH.unpack(head)
        if checksum != _masked_crc(head[:8]):
            yield "the checksum of a record's length is wrong"
            return
        if length > _LARGEST:
            if length > 1 << 40:
                yield "a record is said to have more than a terabyte"
                return
            file.seek(length + _CHECKSUM.size, 1)
            yield None
            continue
        payload = file.read(length)
        tail = file.read(_CHECKSUM.size)
        if len(payload) < length or len(tail) < _CHECKSUM.size:
            yield "it ends in the middle of a record"
            return
        if _CHECKSUM.unpack(tail)[0] != _masked_crc(payload):
            yield "the checksum of a record is wrong"
            return
        yield payload


class _Broken(Exception):
    """A message that is no protobuf."""


def _event(message: bytes) -> tuple[int, dict[str, float]]:
    """The step of an event and its scalars by their tags."""
    step = 0
    scalars: dict[str, float] = {}
    for number, value in _fields(message):
        if number == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >= 1 << 63 else value
        elif number == 5 and isinstance(value, bytes):
            for count, (inner, summary) in enumerate(_fields(value)):
                if inner == 1 and isinstance(summary, bytes) and count < _MOST_VALUES:
                    tag, scalar = _value(summary)
                    if scalar is not None:
                        scalars[tag] = scalar
    return step, scalars


def _value(message: bytes) -> tuple[str, float | None]:
    tag, scalar = "", None
    for number, value in _fields(message):
        if number == 1 and isinstance(value, bytes):
            tag = value[:200].decode("utf-8", "replace")
        elif number == 2 and isinstance(value, float):
            scalar = value
        elif number == 8 and isinstance(value, bytes):
            scalar = _tensor(value)
    return tag, scalar


def _tensor(message: bytes) -> float | None:
    """The number of a tensor that is a scalar of a float type."""
    dtype, content, number = 0, b"", None
    for field, value in _fields(message):
        if field == 1 and isinstance(value, int):
            dtype = value
        elif field == 4 and isinstance(value, bytes):
            content = value
        elif field in (5, 6):
            wanted = _FLOAT if field == 5 else _DOUBLE
            if isinstance(value, float):
                number = value
            elif isinstance(value, bytes) and len(value) == wanted.size:  # packed, one of them
                number = float(wanted.unpack(value)[0])
    if number is None and dtype == _DT_FLOAT and len(content) == _FLOAT.size:
        return float(_FLOAT.unpack(content)[0])
    if number is None and dtype == _DT_DOUBLE and len(content) == _DOUBLE.size:
        return float(_DOUBLE.unpack(content)[0])
    return number


def _fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """The fields of a protobuf message, one after the other, without a look into them.

    Raises:
        _Broken: if a field goes beyond the message, or is of a kind that protobuf does not have (any more).
    """
    position, end = 0, len(message)
    while position < end:
        key, position = _varint(message, position)
        kind = key & 7
        value: int | float | bytes
        if kind == 0:
            value, position = _varint(message, position)
        elif kind == 1:
            if position + 8 > end:
                raise _Broken
            value = float(_DOUBLE.unpack_from(message, position)[0])
            position += 8
        elif kind == 5:
            if position + 4 > end:
                raise _Broken
            value = float(_FLOAT.unpack_from(message, position)[0])
            position += 4
        elif kind == 2:
            length, position = _varint(message, position)
            if position + length > end:
                raise _Broken
            value = message[position : position + length]
            position += length
        else:
            raise _Broken
        yield key >> 3, value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise _Broken
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & ((1 << 64) - 1), position
    raise _Broken


def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # noqa: PLW2901 - the polynomial division, bit by bit
        table.append(value)
    return tuple(table)


_CRC = _crc_table()


def _masked_crc(data: bytes) -> int:
    """CRC-32C, turned and shifted as TFRecords have it, so that checksums of data with checksums do not vanish."""
    crc = 0xFFFFFFFF
    table = _CRC
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
