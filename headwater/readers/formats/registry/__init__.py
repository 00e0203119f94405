"""Schema registries: their common part is in `registry`.

Those that speak Confluent's REST API: `settings`, then `client`; `named`: headers of records. AWS Glue's:
`glue_settings`, then `glue_client`.

The HTTP library is urllib3. It is plain Python without dependencies of its own, thread-safe, imported in a
few hundredths of a second, and already there wherever boto3 or requests is. httpx would bring five more
packages, and its other parts, an asynchronous client and HTTP/2, are not needed for a registry.
"""
