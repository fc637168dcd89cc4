"""Names, versions, specifiers and markers, as the standards of packaging have them."""
