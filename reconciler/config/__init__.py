"""Configuration of a run: flags, variables, the token.

Read ``options`` (the one table) first, then ``config``.
"""
