"""Two policies as examples of an agent's hooks: who may call what, and how much a run may spend.

``permission`` is used as it is, as the ``before_tool`` hook. ``spend`` is a value that is folded from turn to turn;
``shells.policies`` keeps it between them. ``words`` is what models are told.
"""

from .permission import Allow, PermissionGate
from .spend import Refusal, Spend
from .words import CHINESE, ENGLISH, PolicyWords

__all__ = ["CHINESE", "ENGLISH", "Allow", "PermissionGate", "PolicyWords", "Refusal", "Spend"]
