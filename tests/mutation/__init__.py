"""Whether the tests of the fold notice when a rule is broken: ``python -m tests.mutation`` (``--help`` says how)."""
