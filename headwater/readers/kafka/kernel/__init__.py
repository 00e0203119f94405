"""The compiled code of Kafka's record format."""
