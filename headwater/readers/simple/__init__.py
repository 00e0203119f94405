"""The executor half of sources in the small form."""
