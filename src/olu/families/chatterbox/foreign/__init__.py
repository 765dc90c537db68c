"""Chatterbox of other programs: released folders and fine-tuned files are read, and a released folder written."""
