"""The head of a checkpoint: a few numbers, whose version is looked at before all else."""

import msgspec
import pytest
from hypothesis import given
from turnfold.core.run.head import HEAD_VERSION, Head, decode_head, encode_head
from turnfold.effects.transcript import DecodeError
from turnfold.effects.values import replace

from tests.strategies import values


@given(values(Head))
def test_a_head_reads_back_as_it_was(head: Head) -> None:
    head = replace(head, version=HEAD_VERSION)
    assert decode_head(encode_head(head)) == head


def test_the_largest_head_is_small() -> None:
    """decision 1"""
    largest = Head(HEAD_VERSION, *[2**63 - 1] * 4, delivered=True)
    assert len(encode_head(largest)) < 200


@pytest.mark.parametrize("version", [0, HEAD_VERSION + 1, "1", None])
def test_another_version_is_refused_by_both_names(version: object) -> None:
    """N-21: whatever else such a head may hold."""
    raw = msgspec.json.encode({"version": version, "turns": "a later meaning"})
    with pytest.raises(DecodeError) as caught:
        decode_head(raw)
    assert str(caught.value) == f"it has version {version!r}, and this release reads version {HEAD_VERSION}"


@pytest.mark.parametrize(
    "raw",
    [b"", b"garbage", b"[1]", b'{"version":', b'{"version":1,"turns":"x"}', b"\xff", b'{"version":1,"claimed":1.5}'],
)
def test_garbage_is_refused(raw: bytes) -> None:
    """N-21"""
    with pytest.raises(DecodeError, match="it cannot be read"):
        decode_head(raw)


def test_what_a_later_release_adds_is_passed_over() -> None:
    assert decode_head(b'{"version":1,"turns":2,"added_later":true}') == Head(turns=2)
