"""The nouns: jobs, nodes, records, reasons and the words they are read from. Pure, and below all other rooms."""
