"""GPT-2's byte alphabet."""

from __future__ import annotations

from tokfsm.tokenizer import bytelevel


def test_every_byte_has_one_character_and_back():
    assert len(set(bytelevel.BYTE_TO_CHAR)) == 256
    for byte, char in enumerate(bytelevel.BYTE_TO_CHAR):
        assert bytelevel.decode(char) == bytes([byte])


def test_characters_known_from_the_files():
    assert [bytelevel.BYTE_TO_CHAR[byte] for byte in (0x00, 0x0A, 0x20, 0x7F, 0xA0, 0xAD)] == list("ĀĊĠġłŃ")
    assert bytelevel.decode("Ġworld") == b" world"
    assert bytelevel.decode("Ã©") == "é".encode()


def test_a_character_outside_the_alphabet_makes_the_whole_token_plain_text():
    assert bytelevel.decode("Ġ日") == "Ġ日".encode()
    for char in (" ", "\n", "\u00a0", "\u00ad", "\u0144", "🙂"):
        assert bytelevel.decode("é" + char) == ("é" + char).encode()


def test_characters_of_the_alphabet_are_bytes_even_if_meant_as_text():
    assert bytelevel.decode("é") == b"\xe9"
