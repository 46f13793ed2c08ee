"""What differs between vendors, as data: adding one that speaks a known protocol is adding a row."""

from ...effects.values import frozen

__all__ = ["VENDORS", "Vendor"]


@frozen
class Vendor:
    """One brand. ``name`` is what its outputs carry as their provider, so it never changes its meaning.

    ``protocol`` names a wire format (``protocols`` has them). ``base_url`` is the address the vendor documents, empty
    where there is none. ``strips`` and ``appends`` make the protocol's own prefix of what people configure: a trailing
    ``strips`` is taken off the path before ``appends`` is put there, so that an address works with and without it.
    ``max_tokens`` is the name of the member that limits the output.
    """

    name: str
    protocol: str
    base_url: str = ""
    key_optional: bool = False
    strips: str = ""
    appends: str = ""
    max_tokens: str = "max_tokens"


_ROWS = (
    Vendor("openai", "openai-chat", "https://api.openai.com/v1", max_tokens="max_completion_tokens"),
    Vendor("anthropic", "anthropic-messages", "https://api.anthropic.com", strips="/v1"),
    Vendor("ollama", "openai-chat", "http://localhost:11434", key_optional=True, strips="/v1", appends="/v1"),
    Vendor("openai_compatible", "openai-chat", key_optional=True),
)

VENDORS = {vendor.name: vendor for vendor in _ROWS}
"""The known brands by name, in the order in which they are listed to people."""
