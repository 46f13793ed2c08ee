"""JSON Schema by jsonschema-rs, an implementation in Rust (MIT) of all drafts.

Chosen because no schema and no value can hang or crash it within the limits that ``core.arguments`` sets: its regular
expressions are matched in linear time, those that need more (look-around, backreferences) under a limit. Libraries that
use Python's ``re`` run for years on ``^(a+)+$``. It also is the only one that checks ten fields in a microsecond, keeps
integers exact, and says of every failure how the check got there.

Its regular expressions are ECMAScript's, as JSON Schema asks, with look-behind, named groups and ``\\p{...}``. What it does
not know (``\\k<name>``, for one) is refused when the schema is made ready. ``format`` is asserted. A union that holds itself
is tried branch by branch, so its cost grows with how deep a value nests.
"""

import functools
import importlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ...effects.schema import Document, Failure, Schema, SchemaError, Way
from ...effects.transcript import clean_json
from .retracing import part_at, retraced

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["BACKTRACK_MAX", "check_with_rust"]

T = TypeVar("T")

BACKTRACK_MAX = 100_000
"""So often may one match of a regular expression try again; a text that needs more does not match."""

_ROOT = "urn:turnfold:schema"
_JSON_POINTER_FRAGMENT = re.compile(r"#(/([^~/%]|%[0-9a-fA-F]{2}|~[01])*)*")
_UNSAFE = re.compile(r"[^a-zA-Z0-9._~-]")


def check_with_rust(document: Document) -> Schema:
    """A ``SchemaChecker``. The library is loaded on first use, since that takes a tenth of a second."""
    return _RustSchema(document)


class _RustSchema:
    """A document, and validators of those places in it that were asked for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._registry: Any = None
        self._root = _compiled(document)
        self._parts: dict[Way, jsonschema_rs.Validator] = {(): self._root}

    def accepts(self, value: Any, at: Way = ()) -> bool:
        """Whether a value meets the document, or a part of it."""
        part = self._parts.get(at) or self._part(at)
        return _with_clean_text(part.is_valid, value)

    def failures(self, value: Any) -> tuple[Failure, ...]:
        """Everything that a value does not meet."""
        errors = _with_clean_text(self._root.iter_errors, value)
        return tuple(failure for error in errors for failure in _Told(self._document, value).failures(error))

    def _part(self, at: Way) -> "jsonschema_rs.Validator":
        if self._registry is None:
            self._registry = _library().Registry([(_ROOT, self._document)])
        pointer = "".join(f"/{_escaped(str(step))}" for step in at)
        self._parts[at] = part = _compiled({"$ref": f"{_ROOT}#{pointer}"}, registry=self._registry)
        return part


@functools.cache
def _library() -> Any:
    return importlib.import_module("jsonschema_rs")


@functools.cache
def _formats() -> dict[str, Callable[[str], bool]]:
    """Formats that the library does not have."""
    iri = _library().Draft202012Validator({"format": "iri"}, validate_formats=True)
    return {
        "url": iri.is_valid,
        "json-pointer-uri-fragment": lambda text: _JSON_POINTER_FRAGMENT.fullmatch(text) is not None,
    }


def _compiled(document: Document, registry: Any = None) -> "jsonschema_rs.Validator":
    library = _library()
    try:
        validator: jsonschema_rs.Validator = library.Draft202012Validator(
            document,
            formats=_formats(),
            validate_formats=True,
            pattern_options=library.FancyRegexOptions(backtrack_limit=BACKTRACK_MAX),
            registry=registry,
            # It may ask the network for what a schema refers to otherwise.
            offline=True,
        )
    except library.ValidationError as error:
        raise SchemaError(tuple(error.instance_path), error.message) from error
    except (ValueError, library.ReferencingError) as error:
        raise SchemaError((), str(error)) from error
    return validator


def _with_clean_text(check: Callable[[Any], T], value: Any) -> T:
    """What a check says; text that UTF-8 cannot hold is checked with its halves of pairs replaced."""
    try:
        return check(value)
    except ValueError:
        return check(clean_json(value))


def _escaped(step: str) -> str:
    step = step.replace("~", "~0").replace("/", "~1")
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), step)


class _Told:
    """What errors say of a value."""

    def __init__(self, document: Document, value: Any) -> None:
        self._document = document
        self._value = value

    def failures(self, error: "jsonschema_rs.ValidationError") -> Iterator[Failure]:
        """What one error says, and those that led to it."""
        failure, kind = retraced(self._document, self._value, error), error.kind
        context: list[list[jsonschema_rs.ValidationError]] = getattr(kind, "context", [])
        # A branch without errors accepts: too many do, and what others found does not matter.
        if all(context):
            yield from (found for branch in context for inner in branch for found in self.failures(inner))
        match kind.name, failure.rule[-1:]:
            case "additionalProperties", _:
                yield from (_of_name(failure, name) for name in kind.as_dict()["unexpected"])
            case "propertyNames", _:
                inner = kind.as_dict()["error"]
                yield from (_of_name(found, inner.instance) for found in self.failures(inner))
            case "falseSchema", ("propertyNames" | "additionalProperties",):
                # It is said once, of an object none of whose names is allowed.
                yield from (_of_name(failure, name) for name in part_at(self._value, failure.where) or ())
            case _:
                yield failure


def _of_name(failure: Failure, name: str) -> Failure:
    return Failure((*failure.where, name), failure.rule)
