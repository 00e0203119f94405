"""Kafka's executor half: fetching record sets, and decoding them into Arrow."""
