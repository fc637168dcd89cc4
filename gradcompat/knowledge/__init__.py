"""The knowledge base: records as people write them, compiled once, loaded in milliseconds."""
