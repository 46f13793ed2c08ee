"""Models: providers behind their SDKs, and one without a network.

Read ``factory`` for making a model and ``scripted`` for the one that tests use. A provider's wire format is one module
(``openai_chat``, ``openai_responses``, ``anthropic_messages``, ``gemini_generate``) with two pure halves, a request on
the way out and a reader on the way back, the larger ones' readers in a module of their own; ``prompt`` and
``assembler`` are what all of them share, ``exchange`` and ``connections`` the only code that touches the network, and
``failures`` says in one line what went wrong. ``credentials`` says whose turn it is among the keys of a model, and
``fallback`` among models. ``vendors`` is data, and ``structured`` makes values of answers. Importing this room imports
no SDK.
"""

from ...effects.transcript.failures import Stage, stage_of
from .config import ConfigError, ModelConfig, Patience
from .credentials import BearerToken, Credentials, KeyPool
from .estimate import DEFAULT_CONTEXT_WINDOW, context_window, estimate_tokens
from .exchange import RemoteModel
from .factory import make_model
from .fallback import FallbackModel, Retries, Tried
from .scripted import Reply, ScriptedModel, ScriptExhaustedError, call, fail, pause, raw, say, think
from .vendors import VENDORS, Gateway, Strategy, Vendor, brands, vendor_of

__all__ = [
    "DEFAULT_CONTEXT_WINDOW",
    "VENDORS",
    "BearerToken",
    "ConfigError",
    "Credentials",
    "FallbackModel",
    "Gateway",
    "KeyPool",
    "ModelConfig",
    "Patience",
    "RemoteModel",
    "Reply",
    "Retries",
    "ScriptExhaustedError",
    "ScriptedModel",
    "Stage",
    "Strategy",
    "Tried",
    "Vendor",
    "brands",
    "call",
    "context_window",
    "estimate_tokens",
    "fail",
    "make_model",
    "pause",
    "raw",
    "say",
    "stage_of",
    "think",
    "vendor_of",
]
