"""Joining a cluster: within a bounded time, or with a sentence that says what is in the way."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from clearway.engines.ray.cluster import Cluster

ASK_AFTER_S = 3.0
"""Ray's own answer to a wrong token takes 20 to 30 s and names no token: after so long the cluster is asked itself."""
JOIN_S = 60.0
"""Ray's client hangs for good where its server could not start a driver."""
COMES_S = 20.0
"""A head that does not answer may be starting at this moment."""
ANSWER_S = 10.0
CLIENT = "ray://"
TOKEN = "RAY_AUTH_TOKEN"  # noqa: S105  the name of a variable
TOKEN_FILE = "~/.ray/auth_token"  # noqa: S105  the name of a file


class RefusedError(Exception):
    """The cluster cannot be joined like this: to try again is of no use."""


async def join(address: str, namespace: str) -> Cluster:
    """Return a connection to a cluster. Raises RefusedError, ConnectionError, what Ray raises."""
    check_token()
    joining = asyncio.create_task(asyncio.to_thread(Cluster, address, namespace))
    await asyncio.wait({joining}, timeout=ASK_AFTER_S)
    wrong = ""
    if not joining.done():
        wrong = await asyncio.to_thread(ask, address)
        await asyncio.wait({joining}, timeout=COMES_S if wrong else JOIN_S)
    if not joining.done():
        raise (
            RefusedError(wrong)
            if wrong
            else ConnectionError(f"Ray does not join {address} within {JOIN_S:.0f} s; its logs on the head may say why")
        )
    try:
        return joining.result()
    except (RuntimeError, ConnectionError) as error:
        if wrong or "Version mismatch" in str(error):
            raise RefusedError(wrong or " ".join(str(error).split())) from error
        raise


def check_token() -> None:
    """Raise RefusedError where the token that the environment promises is not there: Ray would end this process."""
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token" or os.environ.get(TOKEN):
        return
    place = os.environ.get(f"{TOKEN}_PATH") or TOKEN_FILE
    try:
        found = Path(place).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedError(f"RAY_AUTH_MODE is token, and {place} cannot be read: {error}") from error
    if not found:
        raise RefusedError(f"RAY_AUTH_MODE is token, and {place} is empty")


def ask(address: str) -> str:
    """Return why a cluster does not answer, "" where it does.

    Raises RefusedError where it wants another token, or something else answers.
    """
    if ":" not in address:  # `auto`, `start`
        return ""
    import grpc  # noqa: PLC0415  not needed where Ray joins at once
    from ray._private.grpc_utils import init_grpc_channel  # noqa: PLC0415

    what = "RayletDriver/ClusterInfo" if address.startswith(CLIENT) else "NodeInfoGcsService/GetClusterId"
    channel = init_grpc_channel(address.removeprefix(CLIENT))
    try:
        channel.unary_unary(f"/ray.rpc.{what}")(b"", timeout=ANSWER_S)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNAUTHENTICATED:
            raise RefusedError(f"it asks for a token, and {_shown()}") from None
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            raise RefusedError(_other_port(address)) from None
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            return f"nothing answers there ({error.details()})"
    finally:
        channel.close()
    return ""


def _other_port(address: str) -> str:
    if address.startswith(CLIENT):
        return "no client server of Ray answers at this port: if it is the head's own one, leave out ray://"
    return f"no head of Ray answers at this port: if it is that of its client server, say {CLIENT}{address}"


def _shown() -> str:
    """Say which token was shown."""
    mode = os.environ.get("RAY_AUTH_MODE", "")
    if mode.lower() != "token":
        said = repr(mode) if mode else "not set"
        return f"RAY_AUTH_MODE is {said} here: make it `token` where the controller is started"
    if os.environ.get(TOKEN):
        return f"the one in {TOKEN} is not its own"
    return f"the one in {os.environ.get(f'{TOKEN}_PATH') or TOKEN_FILE} is not its own"
