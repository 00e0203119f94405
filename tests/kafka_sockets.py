"""A plugin of pytest: kafka-python, with which tests produce, closes the socket when it could not connect.

By itself it forgets the socket of a connection that is refused, or that is made while its client is closed.
Python warns of that when it collects the socket, in any later test.
"""

from __future__ import annotations

import socket
from typing import Any

from kafka.net.inet import KafkaNetSocket

_sock_connect = KafkaNetSocket.sock_connect


async def _closing(self: KafkaNetSocket, net: Any, sock: socket.socket, *address: Any, **limits: Any) -> Any:
    try:
        return await _sock_connect(self, net, sock, *address, **limits)
    except BaseException:  # also of a coroutine that is closed while it waits
        sock.close()
        raise


KafkaNetSocket.sock_connect = _closing
