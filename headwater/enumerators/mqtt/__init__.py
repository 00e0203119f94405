"""Which queues of an MQTT broker a query has: its own persistent sessions."""
