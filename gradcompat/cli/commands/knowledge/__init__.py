"""`gradcompat knowledge`: commands for those who write records."""
