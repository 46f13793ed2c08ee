"""Answers of a given shape: one call to a model, whose answer becomes a value of a type of yours.

Read ``generate`` for the doors, ``schema`` (with ``times``) for what a type is to a model, ``strategies`` for the ways
in which models are made to keep to it, and ``answer`` for how an answer is read. ``words`` is what the model is told,
``asked`` what a program may ask.
"""

from .decode import UndecodedError, decode_object
from .errors import CallFailedError, GenerationError, RefusedError, TruncatedError, UndecodableError
from .generate import Ask, Attempt, Generated, GeneratedObject, ObjectSoFar, generate, generate_object, stream_object
from .schema import OutputSchema, SchemaTypeError, schema_for
from .words import CHINESE_WORDS, ENGLISH_WORDS, StructuredWords, structured_words

__all__ = [
    "CHINESE_WORDS",
    "ENGLISH_WORDS",
    "Ask",
    "Attempt",
    "CallFailedError",
    "Generated",
    "GeneratedObject",
    "GenerationError",
    "ObjectSoFar",
    "OutputSchema",
    "RefusedError",
    "SchemaTypeError",
    "StructuredWords",
    "TruncatedError",
    "UndecodableError",
    "UndecodedError",
    "decode_object",
    "generate",
    "generate_object",
    "schema_for",
    "stream_object",
    "structured_words",
]
