"""``python -m gradcompat``."""

from gradcompat.cli.app import main

main()
