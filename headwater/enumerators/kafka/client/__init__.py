"""The Kafka client that driver and readers share: connections, security, the cluster's metadata."""
