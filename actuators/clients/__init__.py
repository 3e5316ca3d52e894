"""The only HTTP of the product: one choke point for each API, with its own retries off and ours on."""
