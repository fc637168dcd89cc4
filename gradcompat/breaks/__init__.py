"""Breaks that released files show by themselves: packages and code that cannot be imported beside a release."""
