"""Slurm as an engine: each task is a batch job of one node, told and asked by Slurm's command line."""
