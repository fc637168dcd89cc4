"""Files of the project and the user's folders: found, read with bounds, written whole, kept."""
