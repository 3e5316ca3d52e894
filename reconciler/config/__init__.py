"""Configuration of a run: flags, variables, the command line, the token.

Read ``flags`` (the one table) first, then ``config``.
"""
