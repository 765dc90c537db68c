"""olu serve"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from olu.cli.progress import logged
from olu.cli.show import print_json, say, warn


def register(app: typer.Typer) -> None:
    @app.command()
    def serve(
        voices: list[Path] = typer.Argument(..., help="Voice packages, workspaces, or folders that hold voices."),
        host: str = typer.Option("127.0.0.1", "--host", help="The address to listen on; 0.0.0.0 is every one."),
        port: int = typer.Option(8080, "--port", help="0: any that is free."),
        workers: int = typer.Option(0, "--workers", help="Processes that speak; 0: one per core."),
        queue: int = typer.Option(64, "--queue", help="Requests that wait or are being spoken; more are sent away."),
        queue_per_client: int = typer.Option(0, "--queue-per-client", help="Of these, for one client; 0: half."),
        batch: int = typer.Option(1, "--batch", help="Requests whose sound is made in one go, at most."),
        loaded: int = typer.Option(4, "--loaded", help="Voices in memory per worker, at most."),
        most_characters: int = typer.Option(4096, "--most-characters", help="Of one text."),
        most_tokens: int = typer.Option(20_000, "--most-tokens", help="Of one text when it is read: numbers grow."),
        most_seconds: float = typer.Option(600.0, "--most-seconds", help="Of one sound."),
        most_body: int = typer.Option(0, "--most-body", help="Bytes of a request; 0: as the characters need."),
        most_connections: int = typer.Option(512, "--most-connections", help="At the same time."),
        connections_per_client: int = typer.Option(
            0, "--connections-per-client", help="Of these, for one client; 0: a quarter."
        ),
        rate_limit: int = typer.Option(0, "--rate-limit", help="Requests a minute and client; 0: no limit."),
        api_key_file: Path | None = typer.Option(
            None, "--api-key-file", help="Keys, one a line; any of them opens. Else OLU_API_KEY."
        ),
        cors: list[str] | None = typer.Option(None, "--cors", help="A web origin that may ask, such as https://a.org."),
        trust_proxy: list[str] | None = typer.Option(
            None, "--trust-proxy", help="A proxy's address, whose X-Forwarded-For is believed."
        ),
        log_texts: bool = typer.Option(False, "--log-texts", help="Write what is said into the log."),
        patience: float = typer.Option(10.0, "--patience", help="Seconds for a request to arrive."),
        stall: float = typer.Option(60.0, "--stall", help="Seconds a client may take none of its sound."),
        grace: float = typer.Option(30.0, "--grace", help="Seconds to finish what was begun, when asked to end."),
        deadline: float = typer.Option(900.0, "--deadline", help="Seconds a request may take."),
        watchdog: float = typer.Option(
            60.0, "--watchdog", help="Seconds a worker may be silent before it is replaced."
        ),
        worker_memory: int = typer.Option(
            0, "--worker-memory", help="MB a worker may take; 0: its share of three quarters of the machine's."
        ),
        default_voice: str = typer.Option(
            "", "--default-voice", help="Who answers to alloy and OpenAI's other names; else the only voice."
        ),
        check: bool = typer.Option(False, "--check", help="Look at voices, settings and port, and end."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object at the end."),
    ) -> None:
        """Speak over HTTP, as OpenAI's clients ask for it, with a page to try it."""
        from dataclasses import asdict

        from olu.core.job import finish
        from olu.stages.serve import serve as stage

        work = stage(
            voices,
            key_file=api_key_file,
            only_check=check,
            logs=sys.stderr,
            host=host,
            port=port,
            workers=workers,
            queue=queue,
            queue_per_client=queue_per_client,
            batch=batch,
            loaded=loaded,
            most_characters=most_characters,
            most_tokens=most_tokens,
            most_seconds=most_seconds,
            most_body=most_body,
            most_connections=most_connections,
            connections_per_client=connections_per_client,
            rate_limit=rate_limit,
            cors=tuple(cors or ()),
            trust_proxy=tuple(trust_proxy or ()),
            log_texts=log_texts,
            patience=patience,
            stall=stall,
            grace=grace,
            deadline=deadline,
            watchdog=watchdog,
            worker_memory=worker_memory,
            default_voice=default_voice,
        )
        work = logged(work)
        where = getattr(next(work), "what", "")
        if not as_json and not check:
            say(f"{where} (Ctrl-C ends it)")
            sys.stdout.flush()
        served = finish(work)
        for name, why in served.damaged.items():
            warn(f"{name} cannot be used: {why}")
        if as_json:
            print_json(asdict(served))
        elif check:
            many = "1 voice" if len(served.voices) == 1 else f"{len(served.voices)} voices"
            say(f"{many}: {', '.join(served.voices) or 'none yet'}")
            if served.next:
                say(f"Next: {served.next}")
        else:
            say(f"{served.requests} requests, {served.seconds:.1f} s of sound")
