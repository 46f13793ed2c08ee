"""The main log: what the model saw, entry by entry, opened only when somebody reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnfold.core.run.log import Entry, EntryKind, decode_entry, encode_entry
from turnfold.effects.transcript import DecodeError, Message, Sealed, UserMessage

from tests.strategies import MESSAGES, TEXTS

ENTRIES = st.builds(
    Entry,
    st.sampled_from(EntryKind),
    st.lists(MESSAGES.map(Sealed.of), max_size=3).map(tuple),
    st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple),
)


@given(ENTRIES)
def test_an_entry_reads_back_as_it_was(entry: Entry) -> None:
    again = decode_entry(encode_entry(entry))
    assert again == entry
    assert [item.open() for item in again.items] == [item.open() for item in entry.items]


@given(MESSAGES)
def test_the_messages_of_an_entry_stay_the_bytes_they_were(message: Message) -> None:
    item = Sealed.of(message)
    assert decode_entry(encode_entry(Entry(EntryKind.INPUT, (item,)))).items[0].raw == item.raw


def test_a_message_is_not_opened_with_its_entry() -> None:
    raw = encode_entry(Entry(EntryKind.INPUT, (Sealed(b'{"type":"unheard of"}'),)))
    (item,) = decode_entry(raw).items
    with pytest.raises(DecodeError):
        item.open()


def test_an_entry_is_compact_and_its_format_is_kept() -> None:
    """What is stored outlives the release that stored it."""
    entry = Entry(EntryKind.OUTPUT, (Sealed.of(UserMessage("hi")),), (("our id", "their id"),))
    assert encode_entry(entry) == b'["output",[{"content":"hi","type":"user"}],[["our id","their id"]]]'
    assert {kind.value for kind in EntryKind} >= {"input", "output", "results", "superseded"}


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b'["input"]', b'["unheard of",[],[]]', b'["input",{},[]]', b'["output",[],[["a"]]]', b"\xff"]
)
def test_what_is_no_entry_is_refused(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_entry(raw)
