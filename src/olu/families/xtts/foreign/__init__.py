"""XTTS v2 of other programs: released folders and fine-tuning checkpoints are read, and a released folder written."""
