"""Reading JSON that is still arriving."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from turnfold.effects.transcript.partial_json import DEPTH_MAX, PartialJson, partial_json

from tests.strategies import JSON

PIECES = [
    *'{}[]:,"\\ \n\0-.+eEtnx/1\'',
    "0", "12", "1e", "2.5", "true", "fals", "null", "nul", "NaN", "Infinity", "-I", '"a"', '"b":', '{"k":', "[1,",
    "[ ]", "\\u00", "\\ud83d", "\\ude00", "\\q", "\\n", '\\"', "\\\\", "\ufeff", "\xa0", "\u00fc",
    "__proto__", "\\u00e9",
]  # fmt: skip
JUNK = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
TEXTS = JUNK | JUNK.map(lambda junk: '{"k":' + junk) | JUNK.map(lambda junk: '["' + junk)
DOCUMENT = {
    "path": "/tmp/a.txt",
    "edits": [{"old": 'say "hi"\n', "new": ""}, {"old": "ü\t", "new": "😀"}],
    "n": [0, -2.5, 3e-7, 10**20],
    "flags": {"dry": True, "force": False, "none": None},
}


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


class TestWholeText:
    @given(JSON, st.sampled_from([None, 0, 2]))
    def test_it_is_read_as_it_is(self, value: Any, indent: int | None) -> None:
        assert partial_json(json.dumps(value, indent=indent)) == value
        assert partial_json(" \n" + json.dumps(value, indent=indent, ensure_ascii=False) + "\t ") == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('{"a":"line\nbreak\ttab"}', {"a": "line\nbreak\ttab"}),
            ('{"a":"C:\\dir\\file"}', {"a": "C:\\dir\file"}),
            ('{"a":"\\q","b":[ ]}', {"a": "\\q", "b": []}),
            ('["\\x", "\\u00e9\\\\"]', ["\\x", "é\\"]),
            ('"a\nb\\q"', "a\nb\\q"),
        ],
    )
    def test_its_strings_are_repaired(self, text: str, value: Any) -> None:
        assert partial_json(text) == value

    def test_a_bad_unicode_escape_is_not_repaired(self) -> None:
        assert partial_json('{"a":1,"k":"\\uZZZZ"}') == {"a": 1}

    def test_the_last_of_two_members_with_one_name_counts(self) -> None:
        assert partial_json('{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}

    def test_null_is_null(self) -> None:
        assert partial_json(" null ") is None


class TestUnfinishedText:
    @pytest.mark.parametrize(
        "text", ["", " ", "\n\t", "\ufeff", "}", "]", "text", "undefined", "// c\n{}", "-", "n", "nul"]
    )
    def test_text_that_holds_nothing_is_an_empty_object(self, text: str) -> None:
        assert partial_json(text) == {}

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("{", {}),
            ('{"a', {}),
            ('{"a"', {}),
            ('{"a":', {}),
            ('{"a": ', {}),
            ('{"a":1,', {"a": 1}),
            ('{"a":1,"b', {"a": 1}),
            ('{"a":{"b":[1,{"c":"x', {"a": {"b": [1, {"c": "x"}]}}),
            ("[[[", [[[]]]),
            ('["a","b', ["a", "b"]),
            ('"abc', "abc"),
            ('["a  ', ["a"]),
        ],
    )
    def test_everything_is_closed_where_the_text_ends(self, text: str, value: Any) -> None:
        assert partial_json(text) == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("t", True), ("tru", True), ("[f", [False]), ('{"a":n', {"a": None}), ("[true,fal", [True, False]),
            ("N", None), ("[I", [None]), ("[-I", [None]), ("[-", []), ("[nul,", []), ("[trux", []),
        ],
    )  # fmt: skip
    def test_a_literal_may_be_cut_anywhere_at_the_very_end(self, text: str, value: Any) -> None:
        assert partial_json(text) == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("12", 12), ("[1,-2", [1, -2]), ("1e", 1), ("1e-", 1), ("[2.5e+", [2.5]), ("1.", {}), ("[1.", []),
            ('{"a":-', {}), ("[1E", []), ("[01", []), ("[+1", []), ("[.5", []), ("[1e999", [None]), ("[1e,2", [1, 2]),
            ("[" + "9" * 300, [int("9" * 300)]), ("[" + "9" * 5_000, []), ("3 4", {}),
        ],
    )  # fmt: skip
    def test_a_number_may_be_cut_in_its_exponent(self, text: str, value: Any) -> None:
        assert same(partial_json(text), value)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('["x\\', ["x"]), ('["x\\u', ["x"]), ('["x\\u00', ["x"]), ('["x\\u00e9', ["xé"]),
            ('["\\ud83d', ["\ud83d"]), ('["\\ud83d\\ude', ["\ud83d"]), ('["\\ud83d\\ude00', ["😀"]), ('["\\\\', ["\\"]),
        ],
    )  # fmt: skip
    def test_half_an_escape_does_not_count(self, text: str, value: Any) -> None:
        assert partial_json(text) == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('{"a":1,"k":"line\nbre', {"a": 1}),
            ('{"k":"tab\\t line\nbre', {"k": "tab"}),
            ('{"k":"bad \\x esc', {"k": "bad "}),
            ('{"k":"bad \\x esc \\n', {}),
            ('{"k":"\\\\ line\nbre', {}),
            ('{"a":1,"k":"bad \\x","b":2', {"a": 1}),
            ('{"a":[1,"\n",2],"b":3', {"a": [1]}),
        ],
    )
    def test_a_string_that_is_not_allowed_counts_up_to_its_last_escape_at_best(self, text: str, value: Any) -> None:
        assert partial_json(text) == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [('"a\nb', "a\nb"), ('"a\nb\\', "a\nb\\"), ('"a\n\\q', "a\n\\q"), ('"a\nb \n ', "a\nb \n"), ('"\n\\uZ\n', {})],
    )
    def test_a_string_that_is_the_whole_text_is_repaired(self, text: str, value: Any) -> None:
        assert partial_json(text) == value


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('["a" "b"{}[]true null', ["a", "b", {}, [], True, None]),
            ("[1 2", []),
            ('{"a" 1}', {}),
            ('{"a"=1', {"a": 1}),
            ('{"a";"b"', {"a": "b"}),
            ("[1,,2", [1]),
            ("[,1", []),
            ('{"a":1,}', {"a": 1}),
            ('[{"a":1,},2', [{"a": 1}, 2]),
            ('{a:1,"b":2', {}),
            ("{'a':1", {}),
            ('[{a":1},2', [{}]),
            ('{"a":[1,2},"b":3', {"a": [1, 2]}),
            ('{"a":{"b":1],"c":2', {"a": {"b": 1}}),
            ('{"a":[ ],"b":1', {"a": []}),
            ('{"a":1}trailing', {"a": 1}),
            ('{"a":1}{"b":2}', {"a": 1}),
            ("true false", True),
            ("nullx", {}),
            ('{"__proto__":1,"a":2', {"a": 2}),
        ],
    )
    def test_what_cannot_be_read_ends_what_it_is_in(self, text: str, value: Any) -> None:
        assert partial_json(text) == value

    def test_white_space_that_json_does_not_know_counts_as_such_around_the_text_only(self) -> None:
        assert partial_json('\ufeff{"a":1}\xa0') == {"a": 1}
        assert partial_json('{"a":\xa01}') == {}
        assert partial_json("null\xa0") == {}

    @pytest.mark.parametrize("opening", ["[", '{"a":', "[["])
    def test_what_is_nested_too_deeply_cannot_be_read(self, opening: str) -> None:
        brackets = opening.count("[") + opening.count("{")
        for times in (DEPTH_MAX // brackets, DEPTH_MAX // brackets + 1, 100_000):
            value, depth = partial_json(opening * times), 0
            while value:
                value, depth = (value[0] if isinstance(value, list) else value["a"]), depth + 1
            assert depth < DEPTH_MAX


class TestInPieces:
    @given(TEXTS, st.lists(st.tuples(st.integers(1, 5), st.booleans())))
    @example('["\\ud83d\\ude00', [(7, True)])
    @example('{"a":"b\\', [(1, True)] * 9)
    @example("  [ 1 ] \ufeff", [(1, True)] * 9)
    @example('"\n \n', [(1, True)] * 4)
    def test_it_makes_no_difference_how_the_text_is_cut_or_who_looked(
        self, text: str, cuts: list[tuple[int, bool]]
    ) -> None:
        reader = PartialJson()
        rest = text
        for length, look in cuts:
            reader.feed(rest[:length])
            rest = rest[length:]
            if look:
                assert same(reader.value(), partial_json(text[: len(text) - len(rest)]))
        reader.feed(rest)
        assert same(reader.value(), partial_json(text))

    @given(JSON, st.sampled_from([None, 1]))
    def test_every_beginning_of_a_text_holds_the_beginning_of_its_value(self, value: Any, indent: int | None) -> None:
        text = json.dumps([value], indent=indent)
        reader = PartialJson()
        for character in text:
            reader.feed(character)
            assert begins(reader.value() or [], [value])
        assert reader.value() == [value]

    def test_a_value_that_was_asked_for_does_not_change_afterwards(self) -> None:
        reader = PartialJson()
        seen: list[tuple[Any, str]] = []
        for character in json.dumps(DOCUMENT):
            reader.feed(character)
            value = reader.value()
            seen.append((value, repr(value)))
        assert all(repr(value) == before for value, before in seen)

    def test_the_value_grows(self) -> None:
        reader = PartialJson()
        lengths: list[int] = []
        for character in json.dumps(DOCUMENT, ensure_ascii=False):
            reader.feed(character)
            lengths.append(len(json.dumps(reader.value())))
        assert lengths[-1] == len(json.dumps(DOCUMENT))
        # A literal is taken for whole at its first letter, and a number may turn out to be something else.
        assert sum(later < sooner for sooner, later in pairwise(lengths)) < 10


def begins(one: Any, other: Any) -> bool:
    """Whether one value is what has arrived so far of the other."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = list(zip(one, other, strict=False))
        names = [name for name, _ in pairs]
        whole = all(one[name] == other[name] for name in names[:-1])
        return (
            len(one) == len(pairs)
            and names == list(other)[: len(names)]
            and whole
            and all(begins(one[name], other[name]) for name in names[-1:])
        )
    if isinstance(one, list) and isinstance(other, list):
        return one[:-1] == other[: len(one)][:-1] and all(map(begins, one[-1:], other[len(one) - 1 : len(one)]))
    if isinstance(one, str) and isinstance(other, str):
        return other.startswith(one.removesuffix("\ud83d")) or one[-1:] >= "\ud800"
    return isinstance(one, int | float | None) and isinstance(other, int | float | None)


class TestCost:
    """Counted, not timed: the work over a whole stream is linear in its text, however often somebody looks."""

    @pytest.mark.parametrize("unit", ["word ", "\\n", "\\ud83d\\ude00", "\\q", "\n"])
    def test_of_a_long_string(self, unit: str) -> None:
        text = '{"path":"x","content":"' + unit * 4_000
        assert work(text) <= 3 * len(text)

    @pytest.mark.parametrize(
        "text",
        [
            json.dumps([DOCUMENT] * 40),
            json.dumps([DOCUMENT] * 40, indent=2),
            "[" * 5_000,
            '{"a":' * 2_000,
            "[1," * 3_000,
            " " * 10_000,
            "[1" + " " * 10_000,
            '"' + "text\n" * 2_000,
            '{"a":1}' * 2_000,
            "[]" + "]" * 9_000,
        ],
        ids=["documents", "indented", "deep", "deep-objects", "deep-lists", "blank", "tail", "string",
             "many", "brackets"],
    )  # fmt: skip
    def test_of_any_text(self, text: str) -> None:
        assert work(text) <= 5 * len(text)

    @pytest.mark.parametrize("word", ["[" + "9" * 20_000, "text " * 4_000])
    def test_of_a_long_word_is_bounded(self, word: str) -> None:
        """A number is read anew until it is too long for one."""
        assert work(word) <= 5 * len(word) + 100_000

    def test_of_asking_again_is_nothing(self) -> None:
        reader = PartialJson()
        reader.feed(json.dumps(DOCUMENT).replace("\\n", "\n"))
        reader.value()
        before = reader.looked_at
        assert all(reader.value() == DOCUMENT for _ in range(10))
        assert reader.looked_at == before

    def test_twice_the_text_is_twice_the_work(self) -> None:
        assert work(json.dumps([DOCUMENT] * 80)) < 2.05 * work(json.dumps([DOCUMENT] * 40))


def work(text: str) -> int:
    """How many characters are looked at when a text arrives one by one, and somebody looks every time."""
    reader = PartialJson()
    for character in text:
        reader.feed(character)
        reader.value()
    return reader.looked_at
