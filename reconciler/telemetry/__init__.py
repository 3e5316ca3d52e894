"""What the process says about itself while it runs: logs and Kubernetes events."""
