"""The MQTT source: its options, and how it is put together."""
