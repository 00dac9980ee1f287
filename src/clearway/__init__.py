"""Clearway schedules AI work on shared GPUs, explains every decision and proves a policy by replay."""

__version__ = "0.1.0"
