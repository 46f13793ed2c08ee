"""The behaviour of agents and of durable runs, as pure functions. Reading order: ``loop``, then ``run``; ``text`` is
what the runtime itself says to a model. Nothing here awaits, reads a clock, or draws a random number.
"""
