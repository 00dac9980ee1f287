"""What runs processes: one adapter a folder, strangers to one another.

Nothing is imported here on purpose: the runner of this machine comes through this package and has to stay small.
"""
