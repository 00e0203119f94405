"""Which part of a chain of sources is read now, and which splits it has."""
