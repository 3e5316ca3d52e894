"""A cluster and its project as a file: written from both APIs, masked, and read again as if it were they."""
