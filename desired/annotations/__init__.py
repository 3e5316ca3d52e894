"""What a Service of type LoadBalancer asks for: its annotations, what they mean, and what Hetzner cannot do."""
