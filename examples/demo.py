"""What `make demo` shows: a model writes a tool call under the mask of a .tokfsm file.

    python examples/demo.py build/tool_call.tokfsm

Prints the text, what a validator says of it, and tokens per second with and without the
mask: the same model, prompt and number of tokens, the prompt itself not counted, the better
of two runs each.
"""

import json
import sys
import time

import jsonschema

import tokfsm
from tokfsm.integrations.mlx_gguf import find_model, load_model
from tokfsm.integrations.mlx_sampling import generate

PROMPT = 'Call the tool get_weather for Paris, 3 days, in celsius. Format: {"name": "get_weather", "arguments": {...}}'
BUDGET = 60


def timed(tokens):
    """The token ids, and how many came per second after the first."""
    ids = [next(tokens)]
    begin = time.perf_counter()
    ids += tokens
    return ids, (len(ids) - 1) / (time.perf_counter() - begin)


def main() -> None:
    automaton = tokfsm.load(sys.argv[1])
    path = find_model("smollm2")
    vocab = tokfsm.Vocabulary.from_file(path)
    model = load_model(path)
    prompt = model.encoder.chat(PROMPT)

    masked = free = 0.0
    for _ in range(2):
        ids, rate = timed(generate(model, prompt, automaton, max_tokens=BUDGET))
        masked = max(masked, rate)
        # Free text of the same length; it stops for nothing.
        _, rate = timed(generate(model, prompt, max_tokens=len(ids)))
        free = max(free, rate)
    text = b"".join(vocab.token_bytes(token) or b"" for token in ids).decode()

    print(f"prompt  {PROMPT}")
    print(f"text    {text}")
    try:
        jsonschema.Draft202012Validator(json.loads(automaton.schema)).validate(json.loads(text))
    except ValueError as error:
        sys.exit(f"not JSON: {error}")
    except jsonschema.ValidationError as error:
        sys.exit(f"invalid: {error.message}")
    print("valid   says jsonschema")
    print(f"speed   {masked:.1f} tokens/s with the mask, {free:.1f} without ({len(ids)} tokens)")


if __name__ == "__main__":
    main()
