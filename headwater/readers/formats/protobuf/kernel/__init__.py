"""The compiled code of Protobuf."""
