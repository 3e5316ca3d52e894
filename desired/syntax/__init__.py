"""Parsers of foreign text: Go's booleans and durations, label selectors, providerIDs; and the bounds of each."""
