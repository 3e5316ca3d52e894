"""Pod routes: which there should be in the private network, whose the others are, and what Nodes are told of theirs."""
