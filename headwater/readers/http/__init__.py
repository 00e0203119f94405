"""How resources of a REST API are read: page by page, politely."""
