"""One module a command: it parses, calls the domain and prints."""
