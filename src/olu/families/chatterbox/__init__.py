"""Chatterbox: a transformer (T3) that writes codes for a text in a voice; new languages for it."""
