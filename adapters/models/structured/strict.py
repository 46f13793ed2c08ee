"""The part of JSON Schema that a provider can hold a model to, letter by letter.

It is the one that OpenAI documents for structured outputs, where a single other keyword is a refusal of the whole
schema. Others that hold models to a schema know these keywords too, or pass over them.
"""

import json
from typing import Any, cast

__all__ = ["is_closed", "strictly"]

Schema = dict[str, Any]

_ONE = ("items", "additionalProperties")
_MANY = ("anyOf",)
_NAMED = ("properties", "$defs")
_KEPT = frozenset(
    {
        *_ONE,
        *_MANY,
        *_NAMED,
        "type",
        "description",
        "required",
        "$ref",
        "enum",
        "const",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


def strictly(schema: Schema) -> Schema:
    """A closed schema without what a provider would refuse, which becomes words of the description.

    The model still sees it so, and decoding checks it in any case.
    """
    kept, told = Schema(), list[str]()
    for name, value in schema.items():
        if name not in _KEPT or (name == "format" and value not in _FORMATS):
            told.append(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
        elif name in _NAMED:
            kept[name] = {key: strictly(child) for key, child in value.items()}
        elif name in _MANY:
            kept[name] = [strictly(child) for child in value]
        elif name in _ONE and isinstance(value, dict):
            kept[name] = strictly(cast("Schema", value))
        else:
            kept[name] = value
    if told and "$ref" not in kept:  # a reference stands alone
        kept["description"] = "; ".join(filter(None, (kept.get("description", ""), *told)))
    return kept


def is_closed(schema: Schema) -> bool:
    """Whether no object takes members by any name, no list anything, and nothing stays unsaid."""
    open_object = schema.get("type") == "object" and schema.get("additionalProperties") is not False
    open_list = schema.get("type") == "array" and not isinstance(schema.get("items"), dict)
    says_nothing = not schema.keys() & {"type", "anyOf", "$ref"}
    if open_object or open_list or says_nothing:
        return False
    items = [schema["items"]] if "items" in schema else []
    named = [child for name in _NAMED for child in schema.get(name, {}).values()]
    return all(map(is_closed, [*items, *schema.get("anyOf", ()), *named]))
