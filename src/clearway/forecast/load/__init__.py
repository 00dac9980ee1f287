"""Load ahead: arrivals, use and request rates, with intervals, by models that are judged on the past of each series."""
