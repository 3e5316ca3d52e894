"""Passes, and what is remembered from one to the next.

Read ``one_pass`` first, whose calls lead through ``judging``, ``chain``, ``approvals`` and ``reporting``; then
``records``, then ``loop`` and ``pacing``.
"""
