"""What a user says about keys and values that become typed columns: options, schemas, formats by name."""
