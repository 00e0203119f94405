"""Lists that change, read round by round: each round asks for what changed since the one before."""
