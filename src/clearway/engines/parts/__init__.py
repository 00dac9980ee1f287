"""What engines share: none knows of another. `tree`, `looks` and `cuts` run beside tasks: standard library alone."""
