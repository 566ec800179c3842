"""llama-cpp-python: a logits processor, and completions that refuse what upstream gets wrong with one.

    llm = llama_cpp.Llama(model_path=..., n_ctx=4096)
    automaton = tokfsm.compile(schema, vocabulary_of(llm))
    create_chat_completion(llm, automaton, messages, max_tokens=200)

or, with the library's own functions, the processor itself in place of a list of them:

    llm.create_chat_completion(messages, max_tokens=200, logits_processor=JSONLogitsProcessor(llm, automaton))

Refused by name, since llama-cpp-python (0.3.36) gets them wrong:

- ``logit_bias`` beside a processor: it drops both (``list.extend`` returns None);
- ``draft_model``: a processor sees all drafted tokens at every place.

A processor is called from C, where an exception is printed and goes no further. So after a failure
every token but the stop tokens is refused, which ends the text, and the failure is kept in `error`;
the functions here raise it.

In C, without Python: ``examples/llama_cpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tokfsm

from .following import Follower, stop_ids

__all__ = ["JSONLogitsProcessor", "create_chat_completion", "create_completion", "generate", "vocabulary_of"]


def vocabulary_of(llm: Any) -> tokfsm.Vocabulary:
    """The vocabulary of a loaded model, its end-of-generation tokens the stop set.

    By the library's own table: ``Llama.detokenize`` gives nothing for tokens over 32 bytes.
    """
    import ctypes

    import llama_cpp

    vocab = llama_cpp.llama_model_get_vocab(llm.model)
    buffer = ctypes.create_string_buffer(256)
    tokens: list[bytes | None] = []
    stops = []
    for one in range(llama_cpp.llama_vocab_n_tokens(vocab)):
        if llama_cpp.llama_vocab_is_eog(vocab, one):
            stops.append(one)
        if llama_cpp.llama_vocab_is_control(vocab, one):
            tokens.append(None)
            continue
        n = llama_cpp.llama_token_to_piece(vocab, one, buffer, len(buffer), 0, True)
        if n < 0:
            buffer = ctypes.create_string_buffer(-n)
            n = llama_cpp.llama_token_to_piece(vocab, one, buffer, len(buffer), 0, True)
        tokens.append(buffer.raw[:n] or None)
    return tokfsm.Vocabulary.from_bytes(tokens, stops)


class JSONLogitsProcessor(list):  # type: ignore[type-arg]
    """``(input_ids, scores) -> scores``, for one completion; also the list that holds itself.

    As a list it can refuse what would be appended to it: a ``logit_bias``.

    Parameters
    ----------
    llm : llama_cpp.Llama
    automaton : tokfsm.Automaton
        For the vocabulary of the model; `vocabulary_of` gives it.
    max_tokens : int, optional
        The value is completed within so many tokens. The same number given to the completion never
        cuts it.

    Attributes
    ----------
    error : BaseException or None
        Why the text was ended early.

    Raises
    ------
    ValueError
        The model has a ``draft_model``, or no stop token is known.
    tokfsm.BudgetError
        `max_tokens` is less than any value is sure to fit in.
    """

    def __init__(self, llm: Any, automaton: tokfsm.Automaton, *, max_tokens: int | None = None) -> None:
        if getattr(llm, "draft_model", None) is not None:
            raise ValueError("draft_model: llama-cpp-python gives a logits processor all drafted tokens at every "
                             "place, so that no mask can be right; load the model without it")
        super().__init__([self])
        self._stops = stop_ids(automaton, None)
        self._follower = Follower(automaton, self._stops, max_tokens)
        self._before: bytes | None = None  # the ids of the last call
        self._bitmask: tokfsm.Bitmask | None = None
        self.error: BaseException | None = None

    def extend(self, others: Any) -> None:
        """Refused: llama-cpp-python would go on with the outcome of this call, which is None."""
        raise ValueError("logit_bias: llama-cpp-python drops it and the logits processors when both are given")

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        try:
            if self.error is None:
                self._apply(input_ids, scores)
        except BaseException as error:
            self.error = error
            self._end(scores)
            raise
        if self.error is not None:
            self._end(scores)
        return scores

    def _apply(self, input_ids: Any, scores: Any) -> None:
        # The model has just been through the caches: few operations, and no array made of the text.
        ids: bytes = input_ids.tobytes()
        if self._before is not None:
            if len(ids) != len(self._before) + input_ids.itemsize or not ids.startswith(self._before):
                raise RuntimeError("a logits processor follows one completion, a token at a time; make a new one for "
                                   "each, and load the model without draft_model")
            self._follower.go_on(int(input_ids[-1]))
        self._before = ids
        if self._bitmask is None or self._bitmask.vocab_size != len(scores):
            self._bitmask = tokfsm.allocate_token_bitmask(1, len(scores))
        if self._follower.fill(self._bitmask):
            tokfsm.apply_token_bitmask_inplace(scores, self._bitmask)

    def _end(self, scores: Any) -> None:
        scores[:] = -np.inf
        scores[self._stops] = 0.0


def create_chat_completion(llm: Any, automaton: tokfsm.Automaton, messages: Any, *, max_tokens: int | None = None,
                           **options: Any) -> Any:
    """``llm.create_chat_completion`` whose text is a value of the automaton's, completed within `max_tokens`.

    Raises
    ------
    ValueError
        An option that does not go with it, by name.
    tokfsm.BudgetError, tokfsm.LimitError
    """
    return _complete(llm.create_chat_completion, llm, automaton, messages, max_tokens, options)


def create_completion(llm: Any, automaton: tokfsm.Automaton, prompt: Any, *, max_tokens: int | None = None,
                      **options: Any) -> Any:
    """``llm.create_completion``, in the same way."""
    return _complete(llm.create_completion, llm, automaton, prompt, max_tokens, options)


def _complete(create: Callable[..., Any], llm: Any, automaton: tokfsm.Automaton, prompt: Any, max_tokens: int | None,
              options: dict[str, Any]) -> Any:
    for name in ("logit_bias", "logits_processor", "grammar", "response_format", "tools", "functions"):
        if options.get(name) is not None:
            raise ValueError(f"{name} does not go with an automaton: llama-cpp-python would drop one of them, or both "
                             "would decide what may come")
    processor = JSONLogitsProcessor(llm, automaton, max_tokens=max_tokens)
    out = create(prompt, max_tokens=max_tokens, logits_processor=processor, **options)
    if options.get("stream"):
        return _checked(out, processor)
    if processor.error is not None:
        raise processor.error
    return out


def _checked(parts: Iterator[Any], processor: JSONLogitsProcessor) -> Iterator[Any]:
    for part in parts:
        if processor.error is not None:
            raise processor.error
        yield part


def generate(llm: Any, prompt: Sequence[int], automaton: tokfsm.Automaton, *, max_tokens: int,
             temperature: float = 0.0, seed: int | None = None) -> Iterator[int]:
    """Token ids of a value, the stop token left out; it is completed within `max_tokens`."""
    processor = JSONLogitsProcessor(llm, automaton, max_tokens=max_tokens)
    if seed is not None:
        llm.set_seed(seed & 0xFFFFFFFF)
    stops = frozenset(automaton.stop_token_ids)
    tokens = llm.generate(list(prompt), temp=temperature, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=1.0,
                          logits_processor=processor)
    for _ in range(max_tokens):
        token = next(tokens)
        if processor.error is not None:
            raise processor.error
        if token in stops:
            return
        yield token
