"""What other systems call things, and the word for it here: for messages alone, no such word is ever taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SAME = {
    "name": "task_id dag_id flow_name job_name id",
    "steps": "tasks templates jobs dag nodes",
    "run": "bash_command command cmd script entrypoint shell python_callable",
    "after": "depends_on depends dependencies needs upstream wait_for dependency",
    "rule": "trigger_rule",
    "when": "condition if",
    "each": "expand with_items withItems withParam foreach map matrix",
    "undo": "rollback compensate teardown",
    "on_error": "on_failure on_failure_callback onExit",
    "max_loops": "recursion_limit max_iterations",
    "max_retries": "retries retry max_retry retry_policy retryStrategy retry_strategy backoffLimit",
    "retry_backoff": "retry_delay retry_delay_seconds retryDelay backoff",
    "time_limit": "timeout timeout_seconds execution_timeout dagrun_timeout time activeDeadlineSeconds",
    "uses": "pool concurrency_limit semaphore",
    "cron": "schedule schedule_interval interval every crontab",
    "timezone": "tz time_zone",
    "from": "start_date start",
    "to": "end_date end",
    "overlap": "max_active_runs concurrencyPolicy concurrency",
    "exclude": "calendar holidays",
    "job": "run trial trialTemplate",
    "trials": "n_trials maxTrialCount max_trials num_samples max_evals",
    "parallel": "n_jobs parallelTrialCount max_concurrent_trials parallelism concurrency",
    "max_failed": "maxFailedTrialCount",
    "metric": "objective objectiveMetricName",
    "direction": "mode",
    "sampler": "algorithm search_alg method",
    "stop": "scheduler pruner early_stopping earlyStopping early_terminate",
    "space": "parameters param_space search_space",
    "priority": "priority_weight priorityClassName",
    "env": "environment env_vars environment_variables",
    "workdir": "cwd working_dir working_directory workingDir",
    "gpus": "gpu num_gpus entrypoint_num_gpus",
    "cpus": "cpu num_cpus cpus_per_task entrypoint_num_cpus",
    "memory": "mem ram entrypoint_memory",
    "resources": "entrypoint_resources",
    "runtime_env": "runtimeEnv runtimeEnvYAML runtime_env_json pip conda py_modules",
}
"""By the word here: what others call it. Of one with several meanings that counts which the place knows."""

SCENARIO = frozenset({"runtime", "returns", "outcomes", "submit", "stop_time", "busy", "curves", "fails"})
"""Words that only scenarios have, where time and results are invented."""


def same(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that means what another system calls `word`, None where none does."""
    at_hand = set(known)
    return next((ours for ours, theirs in SAME.items() if ours in at_hand and word in theirs.split()), None)
