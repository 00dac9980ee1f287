"""The route that Prometheus reads."""

from __future__ import annotations

from fastapi import Request, Response

from clearway.api.desk import TheDesk  # noqa: TC001  FastAPI reads it when the route is made
from clearway.api.roles import guarded

router = guarded("")


@router.get("/metrics", response_class=Response)
def metrics(desk: TheDesk, request: Request) -> Response:
    """Return all metrics in the text format of Prometheus, or in OpenMetrics where that is asked for."""
    page, kind = desk.metrics.page(request.headers.get("accept", ""))
    return Response(page, headers={"Content-Type": kind})
