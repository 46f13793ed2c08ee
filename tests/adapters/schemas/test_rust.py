"""jsonschema-rs as a checker of schemas."""

import subprocess
import sys
import time
from typing import Any

import pytest
from turnfold.adapters.schemas import check_with_rust
from turnfold.effects.schema import SchemaError

# Generous: what hangs takes years, not seconds.
SECONDS = 5


def accepts(document: Any, value: Any) -> bool:
    return check_with_rust(document).accepts(value)


class TestPatterns:
    @pytest.mark.parametrize(
        ("pattern", "matching", "other"),
        [
            (r"cat", "concatenate", "dog"),
            (r"^[A-Z]{2}\d+$", "AB12", "xAB12"),
            (r"(?<=\$)\d+", "$5", "5"),
            (r"(?<!\$)\b\d", "5", "$5"),
            (r"(?<=a{1,3})b", "aab", "b"),
            (r"^(?=.*\d)(?=.*[a-z]).{3,}$", "a1x", "aax"),
            (r"^(?<year>\d{4})-(?<month>\d\d)$", "2024-05", "24-05"),
            (r"^(a|b)\1$", "aa", "ab"),
            (r"^\p{Lu}\p{Ll}+$", "Été", "été"),
            (r"^\p{Script=Greek}+$", "λόγος", "logos"),
            (r"^[\p{L}\p{N}_]+$", "é1", "é-1"),
            (r"^\u{1F600}$", "😀", "😁"),
            (r"^\u00e9$", "é", "e"),
            (r"^\cA$", "\x01", "A"),
            (r"^.$", "x", "\n"),
            (r"a$", "a", "a\n"),
            (r"^\d$", "5", "\u0665"),
            (r"^\s$", "\ufeff", "x"),
            (r"^(?i:a)b$", "Ab", "AB"),
            (r"^[a&&b]$", "&", "c"),
        ],
    )
    def test_they_are_those_of_ecmascript(self, pattern: str, matching: str, other: str) -> None:
        ready = check_with_rust({"pattern": pattern})
        assert (ready.accepts(matching), ready.accepts(other)) == (True, False)

    @pytest.mark.parametrize(
        "pattern", ["(", "[", "a{2,1}", "*", r"\p{Nonsense}", r"(?<n>a)\k<n>", r"\k<m>", r"(a)\2", "[b-a]", r"\ud83d"]
    )
    def test_what_is_not_known_is_refused(self, pattern: str) -> None:
        for document in ({"pattern": pattern}, {"patternProperties": {pattern: {}}}):
            with pytest.raises(SchemaError):
                check_with_rust(document)

    @pytest.mark.parametrize(
        "pattern",
        ["(a{1000}){1000}", "((a{100}){100}){100}", r"(?=x)(?:\p{L}{1000}){10}", "(?:" * 5_000 + "a" + ")" * 5_000],
        ids=["squared", "cubed", "look-ahead", "deep"],
    )
    def test_what_would_take_too_much_memory_is_refused(self, pattern: str) -> None:
        with pytest.raises(SchemaError):
            check_with_rust({"pattern": pattern})

    @pytest.mark.parametrize(
        "pattern",
        [
            r"^(a+)+$",
            r"^(a|aa)+$",
            r"^(a|a)*$",
            r"^(a+)+\1$",
            r"^(?=(a+)+$)",
            r"(?<=(a+)+)b",
            r"^(?:(a+)\1?)+$",
            r"^(a*)*(?=b)b",
            r"(.*a){20}\1x",
            r"^(([a-z])+.)+[A-Z]([a-z])+$",
            r"^(?!(a+)+\1$)b",
        ],
    )
    @pytest.mark.parametrize("place", ["value", "not", "items", "name", "pattern"])
    def test_none_can_hang(self, pattern: str, place: str) -> None:
        text = "a" * 5_000 + "!"
        documents: dict[str, tuple[Any, Any]] = {
            "value": ({"pattern": pattern}, text),
            "not": ({"not": {"pattern": pattern}}, text),
            "items": ({"items": {"pattern": pattern}}, [text] * 3),
            "name": ({"propertyNames": {"pattern": pattern}}, {text: 1}),
            "pattern": ({"patternProperties": {pattern: False}}, {text: 1}),
        }
        document, value = documents[place]
        begun = time.monotonic()
        accepts(document, value)
        assert time.monotonic() - begun < SECONDS

    def test_a_text_that_takes_too_many_tries_does_not_match(self) -> None:
        ready = check_with_rust({"pattern": r"^(?:(a+)\1?)+$"})
        assert ready.accepts("a" * 20)
        assert not ready.accepts("a" * 40 + "!")


class TestValues:
    def test_integers_are_exact(self) -> None:
        """Decision 48."""
        assert not accepts({"maximum": 2**53}, 2**53 + 1)
        assert not accepts({"const": 2**80}, 2**80 + 1)
        assert not accepts({"multipleOf": 2}, 2**53 + 1)
        assert accepts({"type": "integer", "minimum": 10**400}, 10**400)

    def test_a_number_without_a_fraction_is_an_integer(self) -> None:
        assert accepts({"type": "integer", "enum": [1]}, 1.0)
        assert not accepts({"type": "integer"}, 1.5)

    def test_booleans_are_no_numbers(self) -> None:
        assert not accepts({"type": "number"}, True)
        assert not accepts({"enum": [1, 0]}, True)
        assert accepts({"uniqueItems": True}, [1, True])

    def test_infinities_are_no_numbers(self) -> None:
        assert not accepts({"type": "number"}, float("inf"))

    def test_lengths_are_code_points(self) -> None:
        """Decision 48."""
        assert accepts({"minLength": 2, "maxLength": 2}, "😀é")
        assert not accepts({"maxLength": 1}, "e\u0301")

    def test_text_that_utf_8_cannot_hold_is_checked_as_if_it_were_clean(self) -> None:
        assert accepts({"type": "string", "minLength": 1, "maxLength": 1}, "\ud800")
        assert not accepts({"properties": {"a": {"type": "string"}}}, {"a": 1, "\ud800": "\udc00"})

    def test_multiples_of_decimals_are_what_they_look_like(self) -> None:
        assert accepts({"multipleOf": 0.1}, 0.3)
        assert accepts({"multipleOf": 0.01}, 19.99)
        assert not accepts({"multipleOf": 0.1}, 0.35)

    def test_something_that_is_no_json_is_an_error_of_the_caller(self) -> None:
        with pytest.raises(ValueError, match="Unsupported type"):
            accepts({"type": "object"}, object())


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "23:59:60Z", "12:00:60Z"),
        ("date-time", "2024-05-06t07:08:09.5z", "2024-05-06 07:08:09Z"),
        ("duration", "P1DT2H", "1 day"),
        ("email", "a@b.example", "a@"),
        ("idn-email", "ü@ö.example", "ü"),
        ("hostname", "host.example", "-bad-.example"),
        ("idn-hostname", "bücher.example", "a\u3002b\0"),
        ("ipv4", "10.0.0.1", "256.0.0.1"),
        ("ipv6", "::ffff:1.2.3.4", "1::2::3"),
        ("uri", "https://x.example/p?q#f", "/relative"),
        ("uri-reference", "/relative?x", "%zz"),
        ("uri-template", "/u/{name}{?q}", "{"),
        ("iri", "https://ü.example/", "ü"),
        ("iri-reference", "/ü", "a b\\"),
        ("url", "http://x.example", "x.example"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("json-pointer", "/a/b~0", "a/b"),
        ("relative-json-pointer", "0#", "01/a"),
        ("json-pointer-uri-fragment", "#/a%20b/c~1", "/a"),
        ("regex", "^a+$", "(unclosed"),
    ],
)
def test_formats_are_asserted(name: str, good: str, bad: str) -> None:
    ready = check_with_rust({"format": name})
    assert (ready.accepts(good), ready.accepts(bad), ready.accepts(5)) == (True, False, True)


def test_an_unknown_format_says_nothing() -> None:
    assert accepts({"format": "made-up"}, "anything")


@pytest.mark.parametrize("name", ["plain", "a/b", "~", "~1", "%25", "a b", "ü😀", "", "0", "#?"])
def test_any_place_in_a_document_can_be_asked_about(name: str) -> None:
    document = {
        "properties": {name: {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]}, "other": {"type": "boolean"}},
        "$defs": {"n": {"type": "null"}},
    }
    ready = check_with_rust(document)
    way = ("properties", name, "anyOf")
    assert ready.accepts("x", (*way, 0))
    assert not ready.accepts(None, (*way, 0))
    assert ready.accepts(None, (*way, 1))
    assert not ready.accepts(5, ("properties", name))
    assert not ready.accepts({name: 5})


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"minLength": "3"}, ("minLength",)),
        ({"properties": {"a": {"type": "text"}}}, ("properties", "a", "type")),
        ({"allOf": [{"required": "a"}]}, ("allOf", 0, "required")),
        ({"patternProperties": {"(": {}}}, ("patternProperties", "(")),
        ({"const": "\ud800"}, ()),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(document: Any, where: tuple[str | int, ...]) -> None:
    with pytest.raises(SchemaError) as caught:
        check_with_rust(document)
    assert caught.value.where == where
    assert caught.value.problem


def test_nothing_is_ever_fetched() -> None:
    """The network of the library is switched off, should a reference to elsewhere ever come so far."""
    for elsewhere in ("https://schema.example/a", "http://127.0.0.1:9/a", "file:///etc/passwd"):
        begun = time.monotonic()
        with pytest.raises(SchemaError):
            check_with_rust({"$ref": elsewhere})
        assert time.monotonic() - begun < SECONDS


def test_the_library_is_loaded_when_a_schema_is_made_ready_and_not_before() -> None:
    code = (
        "import sys; from turnfold.adapters.schemas import check_with_rust; "
        "assert 'jsonschema_rs' not in sys.modules; check_with_rust({}); assert 'jsonschema_rs' in sys.modules"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=60)
