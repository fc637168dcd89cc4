"""What keeps a start short: dataclasses and regular expressions that are made when they are used."""
