"""JSON Schema by jsonschema-rs, an implementation in Rust (MIT) of all drafts.

Chosen because no regular expression can hang it: they are matched in linear time, those that need more (look-around,
backreferences) under a limit. Libraries that use Python's ``re`` run for years on ``^(a+)+$``. It also is the only one
that checks ten fields in a microsecond, keeps integers exact, and is not slowed down by unions that hold themselves.

Its regular expressions are ECMAScript's, as JSON Schema asks, with look-behind, named groups and ``\\p{...}``. What it
does not know (``\\k<name>``, for one) is refused when the schema is made ready. ``format`` is asserted.
"""

import functools
import importlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...effects.schema import Document, Schema, SchemaError, Way
from ...effects.transcript import clean_json

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["BACKTRACK_MAX", "check_with_rust"]

BACKTRACK_MAX = 100_000
"""So often may one match of a regular expression try again; a text that needs more does not match."""

_ROOT = "urn:turnfold:schema"
_JSON_POINTER_FRAGMENT = re.compile(r"#(/([^~/%]|%[0-9a-fA-F]{2}|~[01])*)*")
_UNSAFE = re.compile(r"[^a-zA-Z0-9._~-]")


def check_with_rust(document: Document) -> Schema:
    """A ``SchemaChecker``. The library is loaded on first use, since that takes a tenth of a second."""
    return _RustSchema(document)


class _RustSchema:
    """A document, and the validators of those places in it that were asked for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._registry: Any = None
        self._validators: dict[Way, jsonschema_rs.Validator] = {(): _compiled(document)}

    def accepts(self, value: Any, at: Way = ()) -> bool:
        """Whether a value meets the schema at a place; text that UTF-8 cannot hold counts as if it had been cleaned."""
        validator = self._validators.get(at) or self._part(at)
        try:
            return validator.is_valid(value)
        except ValueError:
            return validator.is_valid(clean_json(value))

    def _part(self, at: Way) -> "jsonschema_rs.Validator":
        if self._registry is None:
            self._registry = _library().Registry([(_ROOT, self._document)])
        pointer = "".join(f"/{_escaped(str(step))}" for step in at)
        self._validators[at] = part = _compiled({"$ref": f"{_ROOT}#{pointer}"}, self._registry)
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


def _escaped(step: str) -> str:
    step = step.replace("~", "~0").replace("/", "~1")
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), step)
