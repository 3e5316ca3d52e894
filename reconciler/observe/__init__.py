"""API payloads → the core's snapshot. Decoding structs are private to each module and become core types at once."""
