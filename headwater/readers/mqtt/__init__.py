"""How messages are taken from an MQTT broker, and acknowledged."""
