"""Job files of other systems, read and written."""
