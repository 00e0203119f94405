"""Keys and values that become typed columns: their options, schemas, and formats by name."""
