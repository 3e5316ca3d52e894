"""The APIs over HTTP: connections, lists, writes with their one layer of retries, errors, and the shapes of answers.

Read ``errors`` first, then ``retry``, ``connection``, and then ``hetzner`` and ``kubernetes``.
"""
