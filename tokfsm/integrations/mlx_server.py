"""``response_format`` for mlx-lm's HTTP server.

    python -m tokfsm.integrations.mlx_server --model DIRECTORY [options of mlx_lm.server]

or `install()` before ``mlx_lm.server.main()``. Requests to ``/v1/chat/completions`` and
``/v1/completions`` may then have

    "response_format": {"type": "json_schema", "json_schema": {"name": "…", "schema": {…}}}

and ``{"type": "json_object"}`` (any object) or ``{"type": "text"}``. A schema is compiled in the
thread of its request, once for all that ask for it; what is wrong with it is answered with status
400 and its place. The value is completed within ``max_tokens``, so that a limit never cuts it.

The server has no place for this (0.32 ignores the field without a word): two functions of it are
wrapped, the one that validates a request and the one that makes its logits processors. Where they
are not there, `install` says so and changes nothing.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import tokfsm

from .mlx_lm import JSONLogitsProcessor

__all__ = ["install", "main"]


class _WithAutomaton(dict):  # type: ignore[type-arg]
    """A request's logit bias, which reaches the place where processors are made, with what goes along."""

    def __init__(self, logit_bias: dict[int, float] | None, automaton: tokfsm.Automaton) -> None:
        super().__init__(logit_bias or {})
        self.automaton = automaton


class _Schemas:
    """Caches of automata, one a model."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._caches: dict[str, tokfsm.CompilerCache] = {}

    def automaton(self, model: str, schema: Any) -> tokfsm.Automaton:
        if model not in self._caches:
            self._caches[model] = tokfsm.CompilerCache(tokfsm.Vocabulary.from_file(_directory(model)), **self._options)
        return self._caches[model].compile(schema)


def _directory(model: str) -> Path:
    """Where the server has the model's files: a directory, or the hub's cache. Nothing is downloaded."""
    if Path(model).exists():
        return Path(model)
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(model, local_files_only=True))


def schema_of(response_format: Any) -> Any:
    """The schema that a request asks for; None: free text.

    Raises
    ------
    ValueError
        The field is not what the OpenAI interface has there.
    """
    if response_format is None:
        return None
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema":
        raise ValueError(f"response_format has the type {kind!r}; expected 'text', 'json_object' or 'json_schema'")
    named = response_format.get("json_schema")
    if not isinstance(named, dict) or not isinstance(named.get("schema"), (dict, bool)):
        raise ValueError("response_format.json_schema.schema is missing, or no schema")
    return named["schema"]


def install(**options: Any) -> None:
    """Teach ``mlx_lm.server`` the field; a second call does nothing.

    Parameters
    ----------
    **options
        Of `tokfsm.compile`, for all requests, as ``whitespace="flexible"``; ``max_bytes`` of the cache.

    Raises
    ------
    RuntimeError
        This version of mlx-lm has no such functions.
    """
    import mlx_lm
    from mlx_lm import server

    validate = getattr(getattr(server, "APIHandler", None), "validate_model_parameters", None)
    make = getattr(server, "_make_logits_processors", None)
    if validate is None or make is None:
        raise RuntimeError(f"mlx_lm.server {mlx_lm.__version__} validates requests and makes their logits processors "
                           "elsewhere than 0.32; response_format cannot be added to it")
    if hasattr(validate, "tokfsm"):
        return
    schemas = _Schemas(options)

    @functools.wraps(validate)
    def validate_and_compile(self: Any) -> None:
        validate(self)
        schema = schema_of(self.body.get("response_format"))
        if schema is None:
            return
        provider = self.response_generator.model_provider
        model = provider.cli_args.model if self.requested_model == "default_model" else self.requested_model
        try:
            automaton = schemas.automaton(str(model), schema)
            JSONLogitsProcessor(automaton, max_tokens=self.max_tokens)  # whether it can be made
        except tokfsm.SchemaError as error:
            raise ValueError(f"response_format: {error} (at {error.pointer or '/'})") from error
        except (tokfsm.TokfsmError, TypeError, OSError) as error:
            raise ValueError(f"response_format: {error}") from error
        self.logit_bias = _WithAutomaton(self.logit_bias, automaton)

    @functools.wraps(make)
    def make_logits_processors(args: Any) -> Any:
        processors = list(make(args))
        bias = args.logits.logit_bias
        if isinstance(bias, _WithAutomaton):
            # Last: no bias and no penalty may bring back what is refused.
            processors.append(JSONLogitsProcessor(bias.automaton, max_tokens=args.max_tokens))
        return processors

    validate_and_compile.tokfsm = True  # type: ignore[attr-defined]
    server.APIHandler.validate_model_parameters = validate_and_compile
    server._make_logits_processors = make_logits_processors


def main() -> None:
    """``mlx_lm.server`` with `install`; ``--json-whitespace`` is compact, spaced or flexible."""
    from mlx_lm import server

    options = {}
    if "--json-whitespace" in sys.argv[:-1]:
        at = sys.argv.index("--json-whitespace")
        options["whitespace"] = sys.argv[at + 1]
        del sys.argv[at: at + 2]
    install(**options)
    server.main()


if __name__ == "__main__":
    main()
