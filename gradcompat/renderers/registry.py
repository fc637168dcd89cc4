"""Every output format and the module that writes it."""

RENDERERS = {
    "text": "gradcompat.renderers.text",
    "json": "gradcompat.renderers.json_report",
    "markdown": "gradcompat.renderers.markdown",
    "html": "gradcompat.renderers.html_report",
    "sarif": "gradcompat.renderers.sarif",
    "github": "gradcompat.renderers.github",
    "gitlab": "gradcompat.renderers.gitlab",
    "junit": "gradcompat.renderers.junit",
    "cyclonedx-vex": "gradcompat.renderers.cyclonedx_vex",
    "openvex": "gradcompat.renderers.openvex",
}
WITH_EDITS = frozenset({"sarif"})  # tell the advice as edits of a file, too
