"""A model behind a proxy: a server of one's own that holds the providers' keys and streams their answers.

``ProxyModel`` is the port. Read ``client`` for an exchange from the first byte to the last; ``request`` is the way out,
``lines`` and ``answer`` are the way back (bytes to frames, frames to deltas and the whole output), ``failures`` says
what went wrong. ``wire`` is the shape that messages have on the line, both ways, for servers and tests as well. Apart
from ``models`` because the protocol is nobody's but ours: no vendor's SDK, and messages travel as they are.
"""

from .client import ProxyModel
from .config import Patience, ProxyConfigError
from .wire import WireError, message_from_wire, message_to_wire

__all__ = ["Patience", "ProxyConfigError", "ProxyModel", "WireError", "message_from_wire", "message_to_wire"]
