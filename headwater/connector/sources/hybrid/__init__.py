"""The hybrid source: a chain of sources in planned mode (FLIP-150)."""
