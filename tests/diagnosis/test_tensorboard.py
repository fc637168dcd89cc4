"""Event files: what two writers wrote, and what damage does."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.diagnosis import tensorboard
from gradcompat.errors import Malformed
from gradcompat.model.environment import Location, Skipped

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
SCALARS = (LOGS / "tensorboardx-2.6.5.tfevents").read_bytes()
TENSORS = (LOGS / "torch-2.13-tensors.tfevents").read_bytes()


def read(data: bytes) -> list[tensorboard.Point | Skipped]:
    return list(tensorboard.read(io.BytesIO(data), "events"))


def rest(reason: str) -> Skipped:
    return Skipped(what="the rest of the event file", reason=reason, gap=True, location=Location(path="events"))


def record(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    checksums = [struct.pack("<I", tensorboard._masked_crc(part)) for part in (length, payload)]
    return length + checksums[0] + payload + checksums[1]


def test_the_checksum_is_that_of_the_standard() -> None:
    # RFC 3720, B.4: CRC-32C of 32 bytes of zeros is aa 36 91 8a.
    crc = 0x8A9136AA
    assert tensorboard._masked_crc(bytes(32)) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars() -> None:
    points = [point for point in read(SCALARS) if not isinstance(point, Skipped)]
    assert points[1] == ({"loss": 1.0, "grad_norm": 1.125, "learning_rate": 0.5, "step": 1.0}, 0)
    assert [values["step"] for values, _ in points] == list(range(12))
    assert [math.isnan(values["grad_norm"]) for values, _ in points] == [False] * 9 + [True] * 3


def test_tensors_of_both_precisions() -> None:
    assert read(TENSORS) == [
        ({"loss": 1.0, "step": 0.0}, 0),
        ({"loss": 0.5, "step": 1.0}, 0),
        ({"loss": struct.unpack("<f", struct.pack("<f", 1 / 3))[0], "step": 2.0}, 0),
        ({"loss": 0.25, "step": 3.0}, 0),
        ({"loss": struct.unpack("<f", struct.pack("<f", 0.2))[0], "step": 4.0}, 0),
    ]


def field(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2, len(payload)]) + payload


@pytest.mark.parametrize(
    ("tensor", "loss"),
    [
        (b"\x08\x01" + field(4, struct.pack("<f", 0.75)), 0.75),  # as TensorFlow writes it
        (b"\x08\x02" + field(4, struct.pack("<d", 0.75)), 0.75),
        (b"\x08\x01" + field(5, struct.pack("<f", 0.75)), 0.75),  # packed
        (b"\x08\x01\x2d" + struct.pack("<f", 0.75), 0.75),
        (b"\x08\x02\x31" + struct.pack("<d", 0.75), 0.75),
        (b"\x08\x03" + field(4, struct.pack("<i", 3)), None),  # an integer
        (b"\x08\x01" + field(4, struct.pack("<ff", 0.75, 1.0)), None),  # no scalar
        (b"\x08\x01" + field(5, struct.pack("<ff", 0.75, 1.0)), None),
    ],
)
def test_forms_of_a_tensor(tensor: bytes, loss: float | None) -> None:
    event = b"\x10\x07" + field(5, field(1, field(1, b"loss") + field(8, tensor)))
    assert read(TENSORS + record(event))[5:] == ([] if loss is None else [({"loss": loss, "step": 7.0}, 0)])


def test_a_reward_beside_the_loss_is_noted() -> None:
    values = b"".join(
        field(1, field(1, tag) + b"\x15" + struct.pack("<f", 0.5)) for tag in (b"train/loss", b"train/reward")
    )
    event = b"\x10\x07" + field(5, values)
    assert read(TENSORS + record(event))[5:] == [({"loss": 0.5, "step": 7.0, "other_objective": 1.0}, 0)]


def test_a_file_that_is_still_written_gives_what_it_has() -> None:
    assert read(TENSORS[:-3]) == [*read(TENSORS)[:-1], rest("it ends in the middle of a record")]


def test_damage_ends_it() -> None:
    whole = read(TENSORS)
    last = TENSORS.rindex(struct.pack("<d", 0.25))  # the value of the fourth step
    broken = TENSORS[:last] + b"\0" + TENSORS[last + 1 :]
    assert broken == TENSORS  # its first byte is zero anyway
    broken = TENSORS[: last + 7] + b"\0" + TENSORS[last + 8 :]
    assert read(broken) == [*whole[:3], rest("the checksum of a record is wrong")]


def test_large_records_are_stepped_over() -> None:
    large = record(b"\x2a" + b"x" * 100_000)
    assert read(TENSORS + large + record(b"\x10\x07")) == read(TENSORS)


def test_a_length_that_is_not_believed() -> None:
    head = struct.pack("<QI", 1 << 62, 0)
    assert read(TENSORS + head)[-1] == rest("the checksum of a record's length is wrong")


def test_a_message_that_is_none() -> None:
    for payload in (b"\x2a\x7f", b"\x0f", b"\x10" + b"\xff" * 12, b"\x09\x00", b"\x2a\x02\x0a\x09"):
        assert read(TENSORS + record(payload))[-1] == rest("an event in it is damaged")


@pytest.mark.parametrize("data", [b"", b"\0" * 100, SCALARS[1:], SCALARS[:11], b"loss: 1.0\n" * 10])
def test_what_is_no_event_file(data: bytes) -> None:
    assert not tensorboard.matches(data)
    with pytest.raises(Malformed) as caught:
        read(data)
    assert str(caught.value) == "`events`: is not a TensorBoard event file"


@given(st.integers(0, len(TENSORS)), st.binary(max_size=40))
def test_any_damage_gives_points_or_a_note(position: int, new: bytes) -> None:
    data = TENSORS[:position] + new + TENSORS[position + len(new) :]
    try:
        read(data)
    except Malformed:
        assert not tensorboard.matches(data)


@given(st.binary(max_size=200))
def test_any_message_ends(payload: bytes) -> None:
    read(TENSORS + record(payload))
