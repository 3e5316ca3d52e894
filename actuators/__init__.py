"""The hands: one module per kind of object, and ``clients`` with the only HTTP in the product."""
