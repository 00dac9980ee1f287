"""The engine of this machine: `engine.LocalEngine` in the controller, and one small runner that outlives it.

Nothing is imported here on purpose: the runner comes through this package and has to stay small. `runner`,
`keeper`, `spawn`, `records`, `trees`, `procs`, `wire` and `paths` use the standard library alone.
"""
