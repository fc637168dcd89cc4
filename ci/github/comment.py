"""Keeps one comment in a pull request: what it brings, and when that is cured, that nothing is left.

GraphQL is asked because it says which comments are our own (``viewerDidAuthor``) whatever the token is; one by
somebody else is never touched, even if our mark stands in it. Whatever goes wrong here is a warning: a comment decides
nothing. https://docs.github.com/en/graphql/reference/objects#issuecomment
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from workflow import event, say, value

_LONGEST = 60_000  # GitHub takes 65,536 characters, and counts some of them twice
_PAGES = 50
_SECONDS = 30.0

_LIST = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { id
    comments(first: 100, after: $after) { nodes { id body viewerDidAuthor } pageInfo { hasNextPage endCursor } } } }
}
"""
_ADD = "mutation($id: ID!, $body: String!) { addComment(input: {subjectId: $id, body: $body}) { clientMutationId } }"
_EDIT = "mutation($id: ID!, $body: String!) { updateIssueComment(input: {id: $id, body: $body}) { clientMutationId } }"


class NoAnswer(Exception):
    """The API did not do what was asked; the message holds nothing of the request."""


class Api:
    """The GraphQL API of the forge, with the token of the job."""

    def __init__(self, client: httpx.Client, url: str) -> None:
        self._client, self._url = client, url

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The ``data`` of an answer.

        Raises:
            NoAnswer: if there is none, or it is a refusal.
        """
        try:
            response = self._client.post(self._url, json={"query": query, "variables": variables})
            answer = response.json() if response.is_success else None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise NoAnswer(f"the API of GitHub did not answer ({type(error).__name__})") from None
        if answer is None:
            raise NoAnswer(f"the API of GitHub answers with status {response.status_code}{_why(response.status_code)}")
        if not isinstance(answer, dict) or answer.get("errors") or not isinstance(answer.get("data"), dict):
            refused = json.dumps(answer).count('"FORBIDDEN"')
            raise NoAnswer(f"the API of GitHub refuses it{_why(403 if refused else 0)}")
        data: dict[str, Any] = answer["data"]
        return data


def _why(status: int) -> str:
    return (
        ": the token may not write here, which is so for a pull request from a fork and where the job has no "
        "`permissions: pull-requests: write`"
        if status in (401, 403, 404)
        else ""
    )


def mark(category: str) -> str:
    """The invisible first line of our comment; jobs with different categories have one each."""
    return f"<!-- gradcompat {quote(category, safe='')} -->"


def own(api: Api, repository: str, number: int, wanted: str) -> tuple[str, tuple[str, str] | None]:
    """The id of the pull request, and the id and text of our comment if there is one.

    Raises:
        NoAnswer: as :meth:`Api.ask`.
    """
    owner, _, name = repository.partition("/")
    request, after = "", None
    for _ in range(_PAGES):
        data = api.ask(_LIST, owner=owner, name=name, number=number, after=after)
        found = (data.get("repository") or {}).get("pullRequest") or {}
        if not found:
            raise NoAnswer(f"the API of GitHub knows no such pull request{_why(404)}")
        request, comments = found["id"], found["comments"]
        for one in comments["nodes"]:
            if one["viewerDidAuthor"] and one["body"].startswith(wanted):
                return request, (one["id"], one["body"])
        if not comments["pageInfo"]["hasNextPage"]:
            break
        after = comments["pageInfo"]["endCursor"]
    return request, None


def body(first: str, report: str, status: int, found: int, configuration: str = "", *, again: bool = True) -> str:
    """The whole text of the comment.

    Args:
        first: its first line.
        report: as Markdown.
        status: of the check.
        found: how many findings the change brings.
        configuration: what it would have otherwise of the project's options; empty if nothing.
        again: there was a comment before.
    """
    if status == 0 and not found:
        cured = " What this comment said before is cured." if again else ""
        noted = f"\n{_plain(configuration)}\n" if configuration else ""
        return f"{first}\n**gradcompat**: no new findings.{cured}\n{noted}"
    head = f"{first}\nWhat this pull request brings:\n\n"
    if len(head) + len(report) <= _LONGEST:
        return head + report
    kept: list[str] = []
    left = _LONGEST - len(head)
    for line in report.splitlines(keepends=True):
        left -= len(line)
        if left < 0:
            break
        kept.append(line)
    opened = "".join(kept).count("<details>") - "".join(kept).count("</details>")
    return f"{head}{''.join(kept)}{'</details>' * opened}\n\nThe rest is too long for a comment: {_run()} has it.\n"


def _plain(text: str) -> str:
    """A line that is data, as text of Markdown: names of files and ids of waivers are those of the change."""
    return re.sub(r"([\\`*_{}\[\]()<>#+!|@~&:.-])", r"\\\1", " ".join(text.split()))


def _run() -> str:
    return f"[the run]({value('GITHUB_SERVER_URL')}/{value('GITHUB_REPOSITORY')}/actions/runs/{value('GITHUB_RUN_ID')})"


def main() -> None:
    """Write the comment, or say why not."""
    number = (event().get("pull_request") or {}).get("number")
    if not isinstance(number, int):
        return
    status, found = int(os.environ["STATUS"]), int(os.environ["FINDINGS"] or 0)
    first = mark(value("INPUT_CATEGORY"))
    headers = {"Authorization": f"Bearer {value('TOKEN')}", "User-Agent": "gradcompat"}
    try:
        with httpx.Client(headers=headers, timeout=_SECONDS) as client:
            api = Api(client, value("GITHUB_GRAPHQL_URL"))
            request, old = own(api, value("GITHUB_REPOSITORY"), number, first)
            # Nothing new is no reason for a first comment, and neither is what could not be checked.
            configuration = value("CONFIGURATION")
            if old is None and not found and status != 1 and not configuration:
                return
            report = Path(os.environ["REPORT"]).read_text("utf-8")
            text = body(first, report, status, found, configuration, again=old is not None)
            if old is None:
                api.ask(_ADD, id=request, body=text)
            elif old[1].strip() != text.strip():
                api.ask(_EDIT, id=old[0], body=text)
    except (NoAnswer, AttributeError, KeyError, TypeError) as error:
        said = str(error) if isinstance(error, NoAnswer) else "the API of GitHub answers in another form than expected"
        say("warning", f"No comment was written: {said}. The summary of the run has the findings.")


if __name__ == "__main__":
    main()
