"""What the coordinators of both modes share: the enumerator's life, its threads, and the form of offsets."""
