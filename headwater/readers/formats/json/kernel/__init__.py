"""The compiled code of JSON: `decode` reads values, `elements` splits documents, `shapes` infers schemas."""
