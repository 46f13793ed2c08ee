"""Reading one entry of a list of models, by whoever wrote it. A member of the wrong type counts as absent."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, cast

from ...effects.values import frozen, replace

__all__ = ["ListedModel", "ModelType", "details_of", "reader_for"]


class ModelType(StrEnum):
    """What a model is for; ``chat`` where the list does not say."""

    CHAT = "chat"
    EMBEDDING = "embedding"
    RERANK = "rerank"
    DECISION = "decision"


@frozen
class ListedModel:
    """A model that a brand offers. ``inputs`` are what it takes besides text; sizes are in tokens, 0 if not told."""

    id: str
    name: str
    type: ModelType = ModelType.CHAT
    inputs: tuple[str, ...] = ()
    context_window: int = 0
    max_output_tokens: int = 0


Reader = Callable[[Mapping[str, Any]], ListedModel | None]

_MODALITIES = ("image", "audio", "video")


def reader_for(brand: str) -> Reader:
    """How to read an entry of the brand's list: a model, or nothing for what is none that we can use."""
    return _READERS.get(brand, _usual)


def _usual(entry: Mapping[str, Any]) -> ListedModel | None:
    """As OpenAI has it; with what some compatible servers add."""
    id = _id(entry, "id", "model", "name")
    if not id:
        return None
    window = _count(entry, "context_window", "context_length", "max_context_length", "max_model_len")
    inputs = [kind for kind in _MODALITIES if entry.get(f"supports_{kind}_in") is True]
    return ListedModel(id, id, ModelType.CHAT, tuple(inputs), window)


def _mistral(entry: Mapping[str, Any]) -> ListedModel | None:
    """Models that cannot chat are listed as well; of those, the ones for vectors say so in their names."""
    model = _usual(entry)
    capabilities = _object(entry.get("capabilities"))
    if model is None:
        return None
    if capabilities.get("completion_chat") is False:
        return replace(model, type=ModelType.EMBEDDING) if "embed" in model.id else None
    inputs = [kind for kind, name in (("image", "vision"), ("audio", "audio")) if capabilities.get(name) is True]
    return replace(model, name=_text(entry.get("name")) or model.id, inputs=tuple(inputs))


def _anthropic(entry: Mapping[str, Any]) -> ListedModel | None:
    id = _text(entry.get("id"))
    if not id:
        return None
    sees = _object(_object(entry.get("capabilities")).get("image_input")).get("supported") is True
    name = _text(entry.get("display_name")) or id
    window, output = _count(entry, "max_input_tokens"), _count(entry, "max_tokens")
    return ListedModel(id, name, ModelType.CHAT, ("image",) if sees else (), window, output)


def _google(entry: Mapping[str, Any]) -> ListedModel | None:
    id = _text(entry.get("name")).removeprefix("models/")
    methods = _list(entry.get("supportedGenerationMethods"))
    if "generateContent" in methods:
        type = ModelType.CHAT
    elif "embedContent" in methods:
        type = ModelType.EMBEDDING
    else:
        return None
    name = _text(entry.get("displayName")) or id
    window, output = _count(entry, "inputTokenLimit"), _count(entry, "outputTokenLimit")
    return ListedModel(id, name, type, (), window, output) if id else None


def _alibaba(entry: Mapping[str, Any]) -> ListedModel | None:
    id = _id(entry, "model", "id", "model_name", "name")
    return ListedModel(id, _text(entry.get("name")) or id) if id else None


_BY_OUTPUT = {
    "text": ModelType.CHAT,
    "embeddings": ModelType.EMBEDDING,
    "rerank": ModelType.RERANK,
    "decisions": ModelType.DECISION,
}


def _openrouter(entry: Mapping[str, Any]) -> ListedModel | None:
    """An entry that takes text and gives one thing that we know."""
    id = _text(entry.get("id"))
    architecture = _object(entry.get("architecture"))
    outputs, inputs = _list(architecture.get("output_modalities")), _list(architecture.get("input_modalities"))
    type = _BY_OUTPUT.get(_text(outputs[0])) if len(outputs) == 1 else None
    if not id or type is None or "text" not in inputs:
        return None
    limit = _count(_object(entry.get("top_provider")), "max_completion_tokens")
    return ListedModel(
        id,
        _text(entry.get("name")) or id,
        type,
        tuple(dict.fromkeys(kind for kind in inputs if kind in _MODALITIES)),
        _count(entry, "context_length"),
        limit if type is ModelType.CHAT else 0,
    )


def _ollama(entry: Mapping[str, Any]) -> ListedModel | None:
    id = _id(entry, "model", "name")
    return ListedModel(id, id) if id else None


def details_of(model: ListedModel, shown: Mapping[str, Any]) -> ListedModel:
    """A model of Ollama with what its details say. The window is the one that is set, not what would be possible."""
    capabilities = _list(shown.get("capabilities"))
    window = _num_ctx(_text(shown.get("parameters")).splitlines())
    type = ModelType.EMBEDDING if "embedding" in capabilities else ModelType.CHAT
    inputs = ("image",) if "vision" in capabilities else ()
    limit = window if type is ModelType.CHAT else 0
    return replace(model, type=type, inputs=inputs, context_window=window, max_output_tokens=limit)


def _num_ctx(lines: Iterable[str]) -> int:
    for line in lines:
        words = line.split()
        if len(words) > 1 and words[0] == "num_ctx":
            return int(words[1]) if words[1].isascii() and words[1].isdigit() else 0
    return 0


_READERS: Mapping[str, Reader] = {
    "mistral": _mistral,
    "anthropic": _anthropic,
    "google": _google,
    "alibaba": _alibaba,
    "openrouter": _openrouter,
    "ollama": _ollama,
}


def _id(entry: Mapping[str, Any], *names: str) -> str:
    return next(filter(None, (_text(entry.get(name)) for name in names)), "")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _count(entry: Mapping[str, Any], *names: str) -> int:
    for name in names:
        value = entry.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 0
