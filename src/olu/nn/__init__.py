"""Layers that several families are built of. All of it needs torch."""
