"""PURE: text with strangers' words in it, made safe to show on a terminal."""

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def visible(text: str) -> str:
    """The text with its control characters, changes of writing direction and lone surrogates spelt out (`\\x1b`).

    Line feeds and tabs stay, so what is left is what a terminal shows, a tracker stores and UTF-8 can encode.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
