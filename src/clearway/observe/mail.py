"""A notice by mail."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from typing import TYPE_CHECKING

from clearway.observe.outbox import NotSentError

if TYPE_CHECKING:
    from clearway.config.notices import Mail
    from clearway.observe.noticing import Notice

SEND_S = 10.0


class ToMail:
    """Sends notices through a mail server, one mail each, to all recipients."""

    def __init__(self, said: Mail, password: str) -> None:
        """`password` is empty where nobody logs in."""
        self._said, self._password = said, password

    @property
    def name(self) -> str:
        """Return who gets it, and from which server."""
        return f"mail to {', '.join(self._said.recipients)} by {self._said.server[0]}"

    def wants(self, notice: Notice) -> bool:
        """Return whether it was asked for."""
        said = self._said
        return notice.kind in said.on and (not said.queues or notice.job is None or notice.job.queue in said.queues)

    def send(self, notice: Notice) -> None:
        """Send one. NotSentError: the server did not take it for everybody."""
        said, (host, port) = self._said, self._said.server
        try:
            checked = ssl.create_default_context()  # smtplib's own looks at no certificate
            with (
                smtplib.SMTP_SSL(host, port, timeout=SEND_S, context=checked)
                if said.tls == "tls"
                else smtplib.SMTP(host, port, timeout=SEND_S)
            ) as server:
                if said.tls == "starttls":
                    server.starttls(context=checked)
                if said.user:
                    server.login(said.user, self._password)
                refused = server.send_message(self._message(notice), said.sender, list(said.recipients))
        except (OSError, smtplib.SMTPException) as error:
            raise NotSentError(str(error) or type(error).__name__) from error
        if refused:
            raise NotSentError(f"the server refused {', '.join(refused)}")

    def _message(self, notice: Notice) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = "Clearway: " + "".join(c if c.isprintable() else " " for c in notice.title)[:200]
        message["From"], message["To"] = self._said.sender, ", ".join(self._said.recipients)
        message["Message-ID"] = f"<{notice.id}@clearway.invalid>"
        message["Auto-Submitted"] = "auto-generated"
        job = notice.job
        of = "" if job is None else f"\njob: {job.name} ({job.id})\nqueue: {job.queue}\nuser: {job.user}\n"
        message.set_content(f"{notice.title}\n{notice.text}\nat: {notice.at}\n{of}\nnotice {notice.id}\n")
        return message
