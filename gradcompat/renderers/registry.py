"""Every output format and the module that writes it."""

RENDERERS = {
    "text": "gradcompat.renderers.text",
    "json": "gradcompat.renderers.json_report",
}
