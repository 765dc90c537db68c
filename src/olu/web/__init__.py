"""What both servers, `olu serve` and `olu studio`, put before their pages."""
