"""Checkers of JSON Schemas: the libraries behind ``effects.schema``.

One so far, ``check_with_rust``: jsonschema-rs. See ``rust`` for why.
"""

from .rust import check_with_rust

__all__ = ["check_with_rust"]
