"""How messages are taken from an MQTT broker, and acknowledged.

* `broker_client`: paho's client, and a socket from which it reads everything but messages;
* `client`: a session at an MQTT broker with manual acknowledgements, and its messages as rows with keys;
* `connection`: one connection to a broker, whose network the thread that uses it drives;
* `packets`: messages cut out of the bytes that a broker sends, and its reason codes as errors;
* `settings`: the user's settings of an MQTT broker.
"""
