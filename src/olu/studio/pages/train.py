"""Plan and train: the recipe as lines with their reasons, what to begin with, try, start, and go on."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.told import Remedy
from olu.families.runs import whole_runs
from olu.stages.training import dry_sentences
from olu.studio import recipes
from olu.studio.job_files import Job
from olu.studio.parity import same_as
from olu.studio.render import page
from olu.studio.run_view import RunView, job_of, runs_named
from olu.studio.state import CurrentStudio, Studio, Who
from olu.studio.words import t
from olu.train.recipe import Recipe

router = APIRouter()


@router.get("/w/{ws}/train")
def train(request: Request, studio: CurrentStudio, ws: str, plan: int | None = None) -> HTMLResponse:
    place, jobs = studio.workspace(ws), studio.jobs.of(ws)
    own = recipes.of_workspace(place)
    chosen = studio.jobs.one(ws, plan) if plan is not None else recipes.newest_plan(place, jobs)
    shown = recipes.of_job(chosen) if chosen else own
    going = [job for job in jobs if job.verb in ("train", "make") and not job.over]
    return page(
        request,
        "train.html",
        ws=place,
        shown=shown,
        chosen=_chosen(chosen),
        own=own,
        families=recipes.families(),
        bases=recipes.base_choices(place),
        advised=recipes.advised(place),
        has_clips=(place.corpus / "clips.jsonl").is_file(),
        open_runs=_open(studio, ws, place, jobs),
        going=going,
        keys=sorted(_keys()),
        command=Remedy("plan", (place.root,)),
    )


def _chosen(job: Job | None) -> dict[str, Any]:
    """What was asked of the plan that is shown, for the page's fields."""
    options = dict(job.options) if job else {}
    changes = dict(item.split("=", 1) for item in options.get("changes", ()) if "=" in item)
    return {
        "family": changes.pop("family", "").strip('"'),
        "base": options.get("base") or ("scratch" if options.get("from_scratch") else ""),
        "changes": changes,
    }


def _open(studio: Studio, ws: str, place: Workspace, jobs: list[Job]) -> list[RunView]:
    """Runs that are being trained or wait to be gone on with."""
    views = [RunView(place, run, studio.runs.of(run), job_of(jobs, run)) for run in whole_runs(place)]
    return [view for view in views if view.stands.state in ("running", "unfinished")][::-1]


def _keys() -> set[str]:
    """Every setting that --set takes, of all families."""
    own = Recipe.model_fields
    found = {f"{section}.{key}" for section in ("data", "plan", "guards") for key in _fields(own[section].annotation)}
    models = {f"model.{key}" for one in recipes.families() for key in one.config.model_fields}
    return {"seed", *found, *models}


def _fields(kind: Any) -> list[str]:
    return list(kind.model_fields)


@router.get("/w/{ws}/train/plan/{number}")
def plan_lines(request: Request, studio: CurrentStudio, ws: str, number: int) -> HTMLResponse:
    """The lines of a plan, as a piece of the page."""
    job = studio.jobs.one(ws, number)
    return page(request, "plan_lines.html", ws=studio.workspace(ws), tab="train", shown=recipes.of_job(job))


class TrainAsk(BaseModel):
    """What is trained: the plan of a job, the workspace's own recipe, or a run's weights; and how."""

    model_config = ConfigDict(extra="forbid")
    plan: int | None = None  # the job that made the plan
    from_run: str = Field("", max_length=200)
    changes: list[str] = Field(default_factory=list, max_length=200)
    device: str = Field("", max_length=40)
    dry_run: bool = False
    evaluate: bool = False
    new: bool = False


@router.post("/api/w/{ws}/train")
@same_as("train")
def begin(studio: CurrentStudio, who: Who, ws: str, ask: TrainAsk) -> dict[str, Any]:
    """Try or start a training with exactly the plan that is shown."""
    if ask.plan is not None and ask.from_run:
        raise ConfigError(t("a run's weights bring their own recipe: leave the plan out"))
    options: dict[str, Any] = {"changes": ask.changes}
    if ask.plan is not None:
        job = studio.jobs.one(ws, ask.plan)
        options |= {"recipe": str(recipes.kept_recipe(job)), "changes": ask.changes}
    if ask.from_run:
        options["from_run"] = ask.from_run
    options |= {"device": ask.device} if ask.device else {}
    options |= {"dry_run": True} if ask.dry_run else {"evaluate": ask.evaluate, "new": ask.new}
    return studio.jobs.start(ws, "train", options, who).row()


@router.get("/api/w/{ws}/train/{number}")
def begun(studio: CurrentStudio, ws: str, number: int) -> dict[str, Any]:
    """How far a training's job is with its beginning: the run it has made, or what a try came to."""
    job = studio.jobs.one(ws, number)
    result = job.result() if job.over else None
    dry = result.get("dry") if isinstance(result, dict) else None
    fresh = isinstance(result, dict) and bool(result.get("fresh"))
    named = runs_named(job) or ([str(result["run"])] if fresh and isinstance(result, dict) else [])
    return {**job.row(), "run": named[-1] if named else "", "fresh": fresh, "dry": list(dry_sentences(dry or {}))}
