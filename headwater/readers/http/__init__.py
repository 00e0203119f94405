"""How the lists of a REST API are read: page by page, never faster than they may be."""
