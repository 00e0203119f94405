"""Queries seen from outside: the board, and metrics for Prometheus and OpenTelemetry."""
