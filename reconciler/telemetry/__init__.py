"""Telemetry of a running process: logs, metrics, probes, Events and conditions."""
