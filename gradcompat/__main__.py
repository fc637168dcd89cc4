"""``python -m gradcompat``."""

from gradcompat.cli.main import main

main()
