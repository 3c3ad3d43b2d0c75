"""The forms in which a report leaves this program as one piece."""

import json
from enum import StrEnum

from cpubisect.records.registry import Registry
from cpubisect.report.content import content_of
from cpubisect.report.markdown import as_markdown
from cpubisect.report.text import as_text
from cpubisect.views.bisection import Bisection


class Form(StrEnum):
    """What a report can be; `bundle` is a tar.gz of all the others with what is needed to measure again."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    SVG = "svg"
    PNG = "png"
    BUNDLE = "bundle"

    @property
    def binary(self) -> bool:
        """Whether a terminal cannot show it."""
        return self in (Form.PNG, Form.BUNDLE)

    @property
    def media_type(self) -> str:
        """What its bytes are, for a browser or a tracker."""
        return MEDIA_TYPES[self]


MEDIA_TYPES = {
    Form.TEXT: "text/plain; charset=utf-8",
    Form.MARKDOWN: "text/markdown; charset=utf-8",
    Form.HTML: "text/html; charset=utf-8",
    Form.JSON: "application/json",
    Form.SVG: "image/svg+xml",
    Form.PNG: "image/png",
    Form.BUNDLE: "application/gzip",
}

ENDINGS = {Form.TEXT: "txt", Form.MARKDOWN: "md", Form.BUNDLE: "tar.gz"}
"""How the names of files end, where not in the form itself."""


def written(registry: Registry, told: Bisection, form: Form) -> bytes:
    """What is told of a bisection in one form, of those that are no bundle."""
    # What draws takes a second to import; whoever asks for text does not wait for it.
    match form:
        case Form.SVG | Form.PNG:
            from cpubisect.report.charts import picture_of

            return picture_of(registry, told.id, png=form is Form.PNG)
        case Form.HTML:
            from cpubisect.report.page import as_html

            return as_html(registry, told).encode(errors="replace")
        case Form.JSON:
            return (json.dumps(told.to_json(), indent=2) + "\n").encode()
        case Form.MARKDOWN:
            return as_markdown(content_of(told)).encode(errors="replace")
        case Form.TEXT:
            return as_text(content_of(told)).encode(errors="replace")
        case Form.BUNDLE:
            raise ValueError("a bundle is made of the other forms")
