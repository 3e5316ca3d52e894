"""How text of others is read: Go's booleans and durations, label selectors, providerIDs; and the bounds of each."""
