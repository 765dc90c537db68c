"""Olu Studio: a local web app over the same verbs. What runs long is the command itself, in its own process."""
