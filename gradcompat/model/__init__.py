"""The types that everything else speaks in: frozen, without behaviour that reaches outside."""
