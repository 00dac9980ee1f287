"""What engines share: none knows of another. What runs beside tasks (`tree`, `cuts`, ..) is standard library alone."""
