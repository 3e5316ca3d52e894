"""The page while passes go on: ``serving`` answers requests and remembers, ``making`` makes what it answers with.

A controller that serves the page loads ``making``, and all that it needs, with the first request.
"""
