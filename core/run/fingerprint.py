"""What a run's agent is made of, told by part, so that a resume can say what changed (decision 35).

The schemas of tools stand in it whole: whoever edits the arguments of a paused call checks them against these.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from ...effects.tool import ToolSpec
from ...effects.values import frozen


@frozen
class AgentParts:
    """The parts: the instruction, what the model is called with, the tools, and the names of the extensions."""

    instruction: str
    model: tuple[int, Mapping[str, Any]]
    tools: tuple[ToolSpec, ...]
    extensions: tuple[str, ...]


def fingerprint(parts: AgentParts) -> bytes:
    """The parts as JSON: texts by digest, schemas whole."""
    told = {
        "instruction": _digest(parts.instruction.encode(errors="replace")),
        "model": _digest(msgspec.json.encode(parts.model, order="sorted")),
        "tools": {tool.name: _tool(tool) for tool in parts.tools},
        "extensions": parts.extensions,
    }
    return msgspec.json.encode(told, order="sorted")


def _tool(tool: ToolSpec) -> dict[str, Any]:
    told = {"description": _digest(tool.declaration.description.encode(errors="replace"))}
    return {**told, "schema": tool.declaration.parameters, **({"completion": True} if tool.completion else {})}


def _digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=8).hexdigest()


def changes(before: bytes, after: bytes) -> tuple[str, ...]:
    """What of the agent is another, new or gone: ``instruction``, ``model``, ``tool NAME``, ``extension NAME``."""
    old, new = _read(before), _read(after)
    found = [part for part in ("instruction", "model") if old.get(part) != new.get(part)]
    tools, others = _mapping(old.get("tools")), _mapping(new.get("tools"))
    found += [f"tool {name}" for name in sorted(tools.keys() | others.keys()) if tools.get(name) != others.get(name)]
    names = set(_names(old)) ^ set(_names(new))
    return (*found, *(f"extension {name}" for name in sorted(names)))


def schema_of(agent: bytes, tool: str) -> Mapping[str, Any] | None:
    """The schema of a tool's arguments, as it stands in a fingerprint; nothing for a tool that does not."""
    schema = _mapping(_mapping(_read(agent).get("tools")).get(tool)).get("schema")
    return _mapping(schema) if isinstance(schema, dict) else None


def _read(raw: bytes) -> dict[str, Any]:
    try:
        return _mapping(msgspec.json.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _names(told: dict[str, Any]) -> list[str]:
    names = told.get("extensions")
    return [str(name) for name in cast("list[Any]", names)] if isinstance(names, list) else []
