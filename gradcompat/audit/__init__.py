"""From targets to a report: resolve, read, match, plan, and say what could not be seen."""
