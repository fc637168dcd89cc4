"""Work on the records: measuring releases, linting, compiling, and how far releases were looked at."""
