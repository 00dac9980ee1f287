"""The durable work queue of small calls: what is entered, who works on it, and how it ends. Values stay bytes here."""
