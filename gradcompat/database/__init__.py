"""The records that a run uses: bundled, installed or private, and the API that serves them."""
