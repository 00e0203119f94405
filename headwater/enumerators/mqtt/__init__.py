"""Which sessions at an MQTT broker a query has."""
