"""A sampler by hand: the model's logits, tokfsm's mask, one token at a time."""

import sys

import numpy as np

import tokfsm
from tokfsm.integrations.mlx_gguf import find_model, load_model

SCHEMA = {
    "type": "object",
    "properties": {
        "animal": {"type": "string", "maxLength": 20},
        "legs": {"type": "integer"},
        "venomous": {"type": "boolean"},
    },
    "required": ["animal", "legs", "venomous"],
    "additionalProperties": False,
}

path = find_model("smollm2")
vocab = tokfsm.Vocabulary.from_file(path)
matcher = tokfsm.compile(SCHEMA, vocab).matcher()
model = load_model(path)
bitmask = tokfsm.allocate_token_bitmask(1, model.logits_width)
session = model.session()
unread = model.encoder.chat("Describe a spider as JSON.")

for n_left in range(40, 0, -1):  # tokens left: the value is always completed in time
    logits = np.array(session.feed(unread))[None]
    if matcher.fill_next_token_bitmask(bitmask, 0, budget=n_left):
        tokfsm.apply_token_bitmask_inplace(logits, bitmask)
    token = int(logits[0].argmax())
    if token in vocab.stop_token_ids:
        break
    matcher.accept_token(token)
    sys.stdout.buffer.write(vocab.token_bytes(token))
    sys.stdout.flush()
    unread = [token]
print()
