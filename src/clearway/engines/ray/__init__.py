"""A Ray cluster as an engine: `engine.RayEngine` in the controller, and a bridge process that is Ray's driver.

Nothing is imported here on purpose: `host` and `step` go to nodes on which there is Ray and no Clearway.
"""
