"""Models: providers behind their SDKs, and one without a network.

Read ``factory`` for making a model and ``scripted`` for the one that tests use. A provider's wire format is one module
(``openai_chat``, ``anthropic_messages``) with two pure halves, a request on the way out and a reader on the way back;
``prompt`` and ``assembler`` are what all of them share, ``exchange`` is the only code that touches the network, and
``failures`` says in one line what went wrong. ``vendors`` is data. Importing this room imports no SDK.
"""

from .config import ConfigError, ModelConfig, Patience
from .exchange import RemoteModel
from .factory import make_model
from .scripted import Reply, ScriptedModel, ScriptExhaustedError, call, fail, pause, raw, say, think
from .vendors import VENDORS, Vendor

__all__ = [
    "VENDORS",
    "ConfigError",
    "ModelConfig",
    "Patience",
    "RemoteModel",
    "Reply",
    "ScriptExhaustedError",
    "ScriptedModel",
    "Vendor",
    "call",
    "fail",
    "make_model",
    "pause",
    "raw",
    "say",
    "think",
]
