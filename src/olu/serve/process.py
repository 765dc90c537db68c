"""A worker process: its standard input is a socket to the front, with which it ends."""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
from typing import BinaryIO

from olu.serve import memory
from olu.serve.wire import Message, pack, read
from olu.serve.worker import Worker

LEFT_TO_THE_FRONT = ("SIGINT", "SIGTERM", "SIGHUP")  # it decides when it is over, after it has finished


def main(batch: int, loaded: int, most: int) -> None:
    for name in LEFT_TO_THE_FRONT:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    front = socket.socket(fileno=0)
    inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def send(message: Message, sound: bytes = b"", /) -> None:
        try:
            front.sendall(pack(message, sound))
        except OSError:
            os._exit(0)

    worker = Worker(send, batch=batch, loaded=loaded)
    threading.Thread(target=_listen, args=(front.makefile("rb"), inbox, worker), daemon=True).start()
    memory.hold(most)
    while True:
        while not worker.busy or not inbox.empty():
            worker.hear(inbox.get())
        worker.step()


def _listen(pipe: BinaryIO, inbox: queue.SimpleQueue[Message], worker: Worker) -> None:
    while (message := read(pipe)) is not None:
        worker.overhear(message)
        inbox.put(message)
    os._exit(0)  # in the middle of whatever it does: nobody is there to hear it


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
