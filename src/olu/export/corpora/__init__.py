"""A corpus as it is given away: its clips as training hears them, in the form that another program reads."""
