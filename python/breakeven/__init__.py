"""Load a stored KV-cache prefix, or compute it again?

Answers from the curves that ``breakeven calibrate`` measured on this node:

    policy = breakeven.Policy.load("breakeven.json")
    memory = policy.find_tier("memory")           # once
    if policy.should_load(memory, cached_tokens): # the threshold
        ...
    d = policy.decide(prompt=8192, tier=memory, cached=6000, resident=512)
    if d.load:                                    # the whole answer
        load_prefix(d.load_tokens)

Token counts are plain ints, times floats in seconds; names carry their unit.
"""

from ._breakeven import (
    Decision,
    Observer,
    Policy,
    PolicyFileError,
    Query,
    Reloader,
    StoreDecision,
    __version__,
)

__all__ = [
    "Decision",
    "Observer",
    "Policy",
    "PolicyFileError",
    "Query",
    "Reloader",
    "StoreDecision",
    "__version__",
]
