"""The driver half of sources in the small form."""
