"""Explains decisions and takes none: what should be is asked of the same functions that a plan is made with."""
