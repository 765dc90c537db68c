"""One module a page, each with a `router`; its template has its name."""
