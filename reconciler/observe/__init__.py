"""Observation: API payloads to values of the snapshot. Decoding structs are private to each module and are converted at
once."""
