"""Services around models: vectors for texts, scores for documents, lists of models, and whether a key is accepted.

Read ``endpoint`` (where, and with which key) and ``client`` (asking, under trio or asyncio), then a module a service:
``embedding``, ``rerank``, ``discovery`` with ``listed``, and ``probe``. ``brands`` is data, and ``endpoint_for`` knows
the brands' own addresses by it; ``inputs`` checks what callers hand in; ``errors`` and ``failures`` say in one line
what went wrong, and at which stage. Independent of ``adapters.models``: an endpoint has one key, as text.
"""

from ...effects.transcript.failures import Stage
from .brands import endpoint_for
from .client import ServiceClient
from .discovery import Catalogue, discover
from .embedding import Embeddings, embed
from .endpoint import Endpoint, endpoint_at
from .errors import DimensionMismatchError, ServiceError, UnsupportedError
from .listed import ListedModel, ModelType
from .probe import probe
from .rerank import Ranking, RerankFormat, Score, rerank

__all__ = [
    "Catalogue",
    "DimensionMismatchError",
    "Embeddings",
    "Endpoint",
    "ListedModel",
    "ModelType",
    "Ranking",
    "RerankFormat",
    "Score",
    "ServiceClient",
    "ServiceError",
    "Stage",
    "UnsupportedError",
    "discover",
    "embed",
    "endpoint_at",
    "endpoint_for",
    "probe",
    "rerank",
]
