"""What load balancers should be: which one belongs to which Service, its parts, their differences and their order."""
