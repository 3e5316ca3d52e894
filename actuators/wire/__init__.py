"""What objects of the APIs look like on the wire: one codec an object, for whoever reads or writes it."""
