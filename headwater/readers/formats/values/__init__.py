"""Values in text: numbers, decimals, dates, times, zones, and patterns of times."""
