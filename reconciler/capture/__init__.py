"""Capture of a cluster and its project in a file: written from both APIs, masked, and read again in place of them."""
