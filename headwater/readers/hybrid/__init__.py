"""A chain of sources: each part is read as it is by itself, and one column decides at the seam."""
