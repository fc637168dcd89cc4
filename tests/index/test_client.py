"""A whole index: what it has, what it requires, and what is said when it does not answer, or lies."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.index.client import PackageIndex
from gradcompat.index.credentials import Credential
from gradcompat.index.limits import Limits
from gradcompat.index.location import IndexLocation
from gradcompat.model.release import Distribution, Release
from tests.index.serving import QUICK, Reply, Server, Sleeps, anchor, metadata, sdist, serving, wheel


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        yield one


def simple(server: Server) -> IndexLocation:
    return IndexLocation(url=f"{server.base}/simple")


def index(server: Server, **options: object) -> PackageIndex:
    settings: dict[str, object] = {"limits": QUICK, "sleep": Sleeps(), **options}
    return PackageIndex([simple(server)], **settings)  # type: ignore[arg-type]  # they are those of the tests


def problem(index: PackageIndex, name: str = "torch") -> str:
    with index, pytest.raises(IndexUnavailable) as caught:
        index.releases(name)
    return str(caught.value)


TORCH = "torch-2.5.1-cp311-cp311-manylinux1_x86_64.whl"
RELEASE = Release(name="torch", version=Version("2.5.1"), wheels=("cp311-cp311-manylinux1_x86_64",))


# Pages


def test_an_html_page(server: Server) -> None:
    server.html(
        "torch",
        anchor("torch-2.5.1+cu124-cp311-cp311-linux_x86_64.whl", requires_python="&gt;=3.9"),
        anchor(
            "torch-2.5.1-cp312-cp312-win_amd64.whl", requires_python="&gt;=3.9", upload_time="2024-10-30T01:02:03.9Z"
        ),
        anchor("torch-2.10.0.tar.gz", yanked="broken", upload_time="2026-01-21T10:00:00Z"),
        anchor("torch-2.9.0.tar.gz", requires_python="&gt;=3.10"),
        anchor("torch-2.9.0-py3-none-any.whl", yanked=""),
        anchor("torchvision-0.20.0.tar.gz"),
        anchor("torch-nonsense-py3-none-any.whl"),
        anchor("torch-2.4.0-py3-none.whl"),
        anchor("torch-2.4.0.exe"),
        '<a href="https://[">torch-2.3.0.tar.gz</a>',
        '<a href="file:///etc/torch-2.2.0.tar.gz">torch-2.2.0.tar.gz</a>',
        "<a>torch-2.1.0.tar.gz</a>",
    )
    with index(server) as one:
        assert one.releases("Torch") == (
            Release(
                name="torch",
                version=Version("2.5.1"),
                requires_python=">=3.9",
                uploaded="2024-10-30T01:02:03Z",
                wheels=("cp311-cp311-linux_x86_64", "cp312-cp312-win_amd64"),
            ),
            Release(name="torch", version=Version("2.9.0"), wheels=("py3-none-any",), sdist=True),
            Release(name="torch", version=Version("2.10.0"), yanked=True, uploaded="2026-01-21T10:00:00Z", sdist=True),
        )
        assert one.requests == 1
    assert "application/vnd.pypi.simple.v1+json" in server.asked[0].headers["accept"]


def test_a_json_page(server: Server) -> None:
    row = {
        "filename": TORCH,
        "url": f"../../files/{TORCH}#sha256=00",
        "hashes": {"sha256": "AB" * 32, "odd": 5},
        "requires-python": ">=3.9",
        "yanked": "broken",
        "upload-time": "2024-10-30T01:02:03.5+02:00",
        "core-metadata": {"sha256": "cd" * 32},
    }
    page = {
        "meta": {"api-version": "1.1"},
        "name": "torch",
        "files": [row, {"filename": 5}, 7, {**row, "url": "data:,"}],
    }
    server.pages["/simple/torch/"] = Reply(
        body=json.dumps(page).encode(), headers={"Content-Type": "application/vnd.pypi.simple.v1+json"}
    )
    with index(server) as one:
        assert one.releases("torch") == (
            Release(
                name="torch",
                version=Version("2.5.1"),
                requires_python=">=3.9",
                yanked=True,
                uploaded="2024-10-29T23:02:03Z",
                wheels=("cp311-cp311-manylinux1_x86_64",),
            ),
        )
        assert one.distributions("torch", Version("2.5.1")) == (
            Distribution(
                filename=TORCH,
                url=f"{server.base}/files/{TORCH}",
                hashes={"sha256": "ab" * 32},
                requires_python=">=3.9",
                yanked=True,
                uploaded="2024-10-29T23:02:03Z",
                metadata={"sha256": "cd" * 32},
            ),
        )


def test_what_is_not_there_is_nothing(server: Server) -> None:
    with index(server) as one:
        assert one.releases("torch") == ()
        assert one.releases("no name!") == ()
        assert one.distributions("torch", Version("1")) == ()


HTML, JSON = {"Content-Type": "text/html"}, {"Content-Type": "application/vnd.pypi.simple.v1+json"}


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(500), "answered 500 Internal Server Error, 3 times over"),
        (Reply(418), "answered 418 I'm a Teapot"),
        (Reply(401), "answered 401 Unauthorized"),
        (
            Reply(429, headers={"Retry-After": "600"}),
            "answered 429 Too Many Requests, and asks to retry after 600 seconds",
        ),
        (Reply(body=b"x", length=5, headers=HTML), "closed the connection, 3 times over"),
        (Reply(body=b"<a href='torch-1.0.tar.gz", headers=HTML), "is cut off in the middle of a link"),
        (Reply(body=b"<a href='torch-1.0.tar.gz'>torch-1", headers=HTML), "is cut off in the middle of a link"),
        (Reply(body=b"sorry", headers=HTML), "is not HTML"),
        (Reply(body=b"<form><input name=password></form>", headers=HTML), "is a web page, not a list of files"),
        (
            Reply(body=b"<a href='numpy-1.0-py3-none-any.whl'>numpy</a>", headers=HTML),
            "lists files of other packages only",
        ),
        (Reply(body=b'{"files": [', headers=JSON), "is not JSON, or only a part of it"),
        (Reply(body=b"[" * 100_000, headers=JSON), "is not JSON, or only a part of it"),
        (Reply(body=b"[]", headers=JSON), "is JSON, but not a list of files"),
        (
            Reply(body=b'{"meta": {"api-version": "1.0"}, "name": "numpy", "files": []}', headers=JSON),
            "is the page of `numpy`",
        ),
        (
            Reply(body=b'{"meta": {"api-version": "2.0"}, "files": []}', headers=JSON),
            "is of version 2.0 of the protocol, which is not supported",
        ),
        (
            Reply(body=b"%PDF", headers={"Content-Type": "application/pdf"}),
            "is `application/pdf`, which is not a list of files",
        ),
        (Reply(body=b"<html>"), "does not say what it is"),
        (
            Reply(body=b"\x1f\x8bnonsense", headers={**HTML, "Content-Encoding": "gzip"}),
            "sent an answer that cannot be decompressed",
        ),
        (Reply(302), "redirects to what is not an http address"),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), "redirects to what is not an http address"),
        (Reply(302, headers={"Location": "/simple/torch/"}), "redirects more than 5 times"),
        (Reply(body=b" " * 2**20 + b" ", headers=HTML), "is larger than 1 MiB"),
        (Reply(body=b"", length=2**40, headers=HTML), "is larger than 1 MiB"),
        (
            Reply(body=gzip.compress(bytes(2**21)), headers={**HTML, "Content-Encoding": "gzip"}),
            "is larger than 1 MiB",
        ),
    ],
)
def test_a_bad_answer_is_one_sentence(server: Server, reply: Reply, sentence: str) -> None:
    server.pages["/simple/torch/"] = reply
    found = problem(index(server, limits=Limits(silence=5, total=5, attempts=3, page=2**20)))
    assert found == f"`{server.base}/simple/torch/`: {sentence}"


def test_an_index_that_says_nothing(server: Server) -> None:
    server.pages["/simple/torch/"] = Reply(-1)
    found = problem(index(server, limits=Limits(silence=0.05, attempts=2)))
    assert found == f"`{server.base}/simple/torch/`: did not answer within 0.05 seconds, 2 times over"


def test_an_index_that_is_not_there_is_not_asked_again_and_again() -> None:
    with serving() as server:
        pass
    sleeps = Sleeps()
    one = index(server, sleep=sleeps)
    one.expect(["torch"])
    assert problem(one) == f"`{server.base}/simple/torch/`: cannot be reached: Connection refused, 3 times over"
    assert problem(one, "numpy") == f"`{server.base}/simple/numpy/`: cannot be reached: Connection refused"
    assert (one.requests, sleeps.seconds) == (3, [0.5, 1.0])


def test_what_goes_wrong_once_is_tried_again(server: Server) -> None:
    server.html("torch", anchor(TORCH))
    good = server.pages["/simple/torch/"]
    assert isinstance(good, Reply)
    server.pages["/simple/torch/"] = [Reply(429, headers={"Retry-After": "7"}), Reply(503), good]
    sleeps = Sleeps()
    with index(server, sleep=sleeps) as one:
        assert one.releases("torch") == (RELEASE,)
    assert sleeps.seconds == [7.0, 1.0]


def test_a_moment_to_wait_for_that_has_passed(server: Server) -> None:
    server.pages["/simple/torch/"] = [
        Reply(503, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        Reply(503, headers={"Retry-After": "soon"}),
        Reply(404),
    ]
    sleeps = Sleeps()
    with index(server, sleep=sleeps) as one:
        assert one.releases("torch") == ()
    assert sleeps.seconds == [0.0, 1.0]


# Several indexes


def test_what_two_indexes_have_counts_once(server: Server) -> None:
    server.html("torch", anchor(TORCH), anchor("torch-2.5.0.tar.gz"))
    server.pages["/whl/torch/"] = Reply(
        body=(anchor(TORCH) + anchor("torch-2.5.1+cu124-cp311-cp311-linux_x86_64.whl")).encode(), headers=HTML
    )
    both = [simple(server), IndexLocation(url=f"{server.base}/whl/")]
    with PackageIndex(both, limits=QUICK) as one:
        assert [(str(each.version), each.wheels, each.sdist) for each in one.releases("torch")] == [
            ("2.5.0", (), True),
            ("2.5.1", ("cp311-cp311-linux_x86_64", "cp311-cp311-manylinux1_x86_64"), False),
        ]
        assert [file.filename for file in one.distributions("torch", Version("2.5.1"))] == [
            TORCH,
            "torch-2.5.1+cu124-cp311-cp311-linux_x86_64.whl",
        ]
        assert [file.filename for file in one.distributions("torch", Version("2.5.1+cu124"))] == [
            "torch-2.5.1+cu124-cp311-cp311-linux_x86_64.whl"
        ]
        assert one.described == "2 package indexes"
    with PackageIndex(both, limits=QUICK, strategy="first") as one:
        assert [str(each.version) for each in one.releases("torch")] == ["2.5.0", "2.5.1"]
        assert one.requests == 1
    with PackageIndex(both, limits=QUICK, tied={"Torch": both[1:]}) as one:
        assert [str(each.version) for each in one.releases("torch")] == ["2.5.1"]


def test_an_index_that_refuses_what_it_does_not_have(server: Server) -> None:
    server.html("torch", anchor(TORCH))
    server.pages["/whl/torch/"] = Reply(403)
    both = [simple(server), IndexLocation(url=f"{server.base}/whl")]
    with PackageIndex(both, limits=QUICK) as one:
        assert one.releases("torch") == (RELEASE,)
        assert one.notes == (f"`{server.base}/whl/`: answers 403 for `torch`, which counts as not having them",)
    assert problem(PackageIndex(both[1:], limits=QUICK)) == f"`{server.base}/whl/torch/`: answered 403 Forbidden"


def test_one_index_of_two_that_is_broken_is_not_passed_over(server: Server) -> None:
    server.html("torch", anchor(TORCH))
    server.pages["/whl/torch/"] = Reply(500)
    both = [simple(server), IndexLocation(url=f"{server.base}/whl")]
    found = problem(PackageIndex(both, limits=QUICK, sleep=Sleeps()))
    assert found == f"`{server.base}/whl/torch/`: answered 500 Internal Server Error, 3 times over"


def test_what_is_newer_than_a_moment_does_not_count(server: Server) -> None:
    server.html(
        "torch",
        anchor("torch-1.0.tar.gz", upload_time="2024-01-01T00:00:00Z"),
        anchor("torch-1.0-py3-none-any.whl", upload_time="2025-01-01T00:00:00Z"),
        anchor("torch-2.0.tar.gz", upload_time="2025-01-01T00:00:00Z"),
        anchor("torch-3.0.tar.gz"),
    )
    with index(server, exclude_newer="2025-01-01T00:00:00Z") as one:
        assert one.releases("torch") == (
            Release(name="torch", version=Version("1.0"), uploaded="2024-01-01T00:00:00Z", sdist=True),
        )
        assert [file.filename for file in one.distributions("torch", Version("1.0"))] == ["torch-1.0.tar.gz"]
        assert one.notes == (
            f"`{server.base}/simple`: does not say when files of `torch` were uploaded, "
            "so they are left out as too new",
        )


def test_folders_and_pages_of_files(server: Server, tmp_path: Path) -> None:
    built = wheel("torch", "2.5.1", "numpy")
    (tmp_path / TORCH).write_bytes(built)
    (tmp_path / "torch-2.5.2.tar.gz").write_bytes(
        sdist("torch", "2.5.2", metadata("torch", "2.5.2", "sympy", form="2.2"))
    )
    (tmp_path / "torch-2.5.3.zip").write_bytes(b"no zip")
    (tmp_path / "notes.txt").write_text("")
    server.pages["/links.html"] = Reply(
        body=(anchor("torch-2.6.0.tar.gz") + anchor("numpy-2.0.0.tar.gz")).encode(), headers=HTML
    )
    links = [
        IndexLocation(url=tmp_path.as_uri(), find_links=True),
        IndexLocation(url=f"{server.base}/links.html", find_links=True),
        IndexLocation(url=(tmp_path / "missing").as_uri(), find_links=True),
        IndexLocation(url=(tmp_path / "missing").as_uri()),
        IndexLocation(url=f"{server.base}/missing.html", find_links=True),
    ]
    with PackageIndex(links, limits=QUICK) as one:
        one.expect(["torch", "numpy"])
        found = one.releases("torch")
        assert [str(each.version) for each in found] == ["2.5.1", "2.5.2", "2.5.3", "2.6.0"]
        assert [str(each.version) for each in one.releases("numpy")] == ["2.0.0"]
        assert server.paths == ["/links.html", "/missing.html"]
        assert one.requires(found[0]) == ("numpy",)
        assert one.requires(found[1]) == ("sympy",)
        with pytest.raises(IndexUnavailable) as caught:
            one.requires(found[2])
        assert str(caught.value) == f"`{tmp_path / 'torch-2.5.3.zip'}`: is not a zip that can be read"


def test_an_index_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / TORCH).write_bytes(wheel("torch", "2.5.1", "numpy"))
    (tmp_path / "simple" / "torch").mkdir(parents=True)
    (tmp_path / "simple" / "torch" / "index.html").write_text(anchor(TORCH, folder="../../files/"))
    with PackageIndex([IndexLocation(url=(tmp_path / "simple").as_uri())]) as one:
        one.expect(["torch"])
        one.expect_requirements(one.releases("torch"))
        assert one.releases("torch") == (RELEASE,)
        assert one.requires(RELEASE) == ("numpy",)
        assert one.requests == 0


# Credentials


def test_credentials_go_to_their_origin_alone(server: Server) -> None:
    secret = "Basic " + base64.b64encode(b"me:secret").decode()
    with serving() as other:
        other.html("torch", anchor(TORCH))
        server.pages["/simple/torch/"] = Reply(302, headers={"Location": "/moved/"})
        target = other.base.replace("http://", "http://you:hidden@") + "/simple/torch/"
        server.pages["/moved/"] = Reply(302, headers={"Location": target})

        def of(url: str) -> Credential | None:
            return Credential("me", "secret") if url.startswith(server.base) else Credential("you", "other")

        location = IndexLocation(url=server.base.replace("http://", "http://me:secret@") + "/simple")
        with PackageIndex([location], credentials=of, limits=QUICK) as one:
            assert one.releases("torch") == (RELEASE,)
            assert "secret" not in repr(location) + one.described
        assert [asked.headers.get("authorization") for asked in server.asked] == [secret, secret]
        assert [asked.headers.get("authorization") for asked in other.asked] == [None]


def test_credentials_are_in_no_message(server: Server, tmp_path: Path) -> None:
    location = IndexLocation(url=server.base.replace("http://", "http://me:secret@") + "/simple?token=hidden")
    server.pages["/simple?token=hidden/torch/"] = Reply(401)
    one = PackageIndex([location], credentials=lambda _: Credential("me", "secret"), cache=tmp_path, limits=QUICK)
    with one, pytest.raises(IndexUnavailable) as caught:
        one.releases("torch")
    assert str(caught.value) == f"`{server.base}/simple`: answered 401 Unauthorized"
    assert caught.value.hint == "the user name or the password is wrong"
    assert "secret" not in "".join(map(str, tmp_path.rglob("*")))


# Metadata


def required(server: Server, name: str = "torch", **options: object) -> tuple[str, ...] | None:
    with index(server, **options) as one:
        return one.requires(one.releases(name)[-1])


def test_the_metadata_beside_a_wheel(server: Server) -> None:
    content = metadata("Torch", "2.5.1", "numpy (>=1.0)", "sympy ; python_version\n   >= '3.9'", "???")
    digest = hashlib.sha256(content).hexdigest()
    server.html("torch", anchor(TORCH, b"never fetched", dist_info_metadata=f"sha256={digest}"))
    server.pages[f"/files/{TORCH}.metadata"] = Reply(body=content)
    assert required(server) == ("numpy (>=1.0)", "sympy ; python_version >= '3.9'", "???")
    assert server.paths == ["/simple/torch/", f"/files/{TORCH}.metadata"]


def test_metadata_that_nobody_advertised(server: Server) -> None:
    server.html("torch", anchor(TORCH))
    server.pages[f"/files/{TORCH}.metadata"] = Reply(body=metadata("torch", "2.5.1", "numpy"))
    assert required(server) == ("numpy",)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (metadata("torch", "2.5.1"), "is not the file that the index lists: its sha256 differs"),
        (metadata("numpy", "2.5.1"), "its metadata is of `numpy` 2.5.1"),
        (metadata("torch", "2.5.0"), "its metadata is of `torch` 2.5.0"),
        (b"Metadata-Version: 2.1\nName: tor", "its metadata has no name or no version"),
        (metadata("torch", "latest"), "its metadata has no version that could be one"),
        (b"", "its metadata has no name or no version"),
    ],
)
def test_metadata_that_cannot_be_true(server: Server, content: bytes, sentence: str) -> None:
    wrong = sentence.startswith("is not")
    digest = "00" * 32 if wrong else hashlib.sha256(content).hexdigest()
    server.html("torch", anchor(TORCH, core_metadata=f"sha256={digest}"))
    server.pages[f"/files/{TORCH}.metadata"] = Reply(body=content)
    with pytest.raises(IndexUnavailable) as caught:
        required(server)
    assert str(caught.value) == f"`{server.base}/files/{TORCH}{'.metadata' if wrong else ''}`: {sentence}"


def test_a_large_wheel_is_read_in_parts(server: Server) -> None:
    built = wheel("torch", "2.5.1", "numpy", padding=300_000)
    server.html("torch", anchor(TORCH, built))
    server.pages[f"/files/{TORCH}"] = Reply(body=built, ranges=True)
    assert required(server) == ("numpy",)
    parts = [asked.headers["range"] for asked in server.asked if asked.path == f"/files/{TORCH}"]
    assert {asked.headers["accept-encoding"] for asked in server.asked[2:]} == {"identity"}
    assert parts == ["bytes=-65536", "bytes=47-16430"]  # the end, and where METADATA stands


def test_a_server_that_does_not_count_from_the_end(server: Server) -> None:
    built = wheel("torch", "2.5.1", "numpy", padding=300_000)
    server.html("torch", anchor(TORCH, built))
    parts = Reply(body=built, ranges=True)
    server.pages[f"/files/{TORCH}"] = [Reply(416), parts]
    assert required(server) == ("numpy",)


def test_a_server_that_sends_no_parts(server: Server) -> None:
    built = wheel("torch", "2.5.1", "numpy", padding=300_000)
    server.html("torch", anchor(TORCH, built))
    server.pages[f"/files/{TORCH}"] = Reply(body=built)
    assert required(server) == ("numpy",)
    with pytest.raises(IndexUnavailable) as caught:
        required(server, limits=Limits(archive=100_000))
    assert (
        str(caught.value) == f"`{server.base}/files/{TORCH}`: is sent only as a whole, and is larger than 100000 bytes"
    )
    server.html("torch", anchor(TORCH, b"something else"))
    with pytest.raises(IndexUnavailable) as caught:
        required(server)
    assert str(caught.value) == (
        f"`{server.base}/files/{TORCH}`: is not the file that the index lists: its sha256 differs"
    )


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(body=b"no zip", ranges=True), "is not a zip that can be read"),
        (Reply(body=sdist("torch", "1", b""), ranges=True), "is not a zip that can be read"),
        (Reply(404), "answered 404 Not Found"),
        (Reply(206, body=b"x"), "does not say which part of the file it sent"),
        (
            Reply(206, body=b"x", headers={"Content-Range": "bytes 0-5/900"}),
            "sent another part of the file than it was asked for",
        ),
    ],
)
def test_wheels_that_are_none(server: Server, reply: Reply, sentence: str) -> None:
    server.html("torch", anchor(TORCH))
    server.pages[f"/files/{TORCH}"] = reply
    with pytest.raises(IndexUnavailable) as caught:
        required(server)
    assert str(caught.value) == f"`{server.base}/files/{TORCH}`: {sentence}"


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("padding", [0, 200_000])
@pytest.mark.parametrize(
    ("content", "requires"),
    [
        (metadata("torch", "2.5.1", "numpy", form="2.2"), ("numpy",)),
        (metadata("torch", "2.5.1", "numpy", form="2.4", extra="Dynamic: License\n"), ("numpy",)),
        (metadata("torch", "2.5.1", form="2.2", extra="Dynamic: Requires-Dist\n"), None),
        (metadata("torch", "2.5.1", "numpy", form="2.1"), None),
        (None, None),
    ],
)
def test_an_sdist_alone(
    server: Server, ranges: bool, padding: int, content: bytes | None, requires: tuple[str, ...] | None
) -> None:
    built = sdist("torch", "2.5.1", content, padding)
    server.html("torch", anchor("torch-2.5.1.tar.gz", built))
    server.pages["/files/torch-2.5.1.tar.gz"] = Reply(body=built, ranges=ranges)
    assert required(server) == requires


def test_an_sdist_that_is_broken(server: Server) -> None:
    server.html("torch", anchor("torch-2.5.1.tar.gz"))
    server.pages["/files/torch-2.5.1.tar.gz"] = Reply(body=sdist("torch", "2.5.1", b"", 5000)[:3000])
    with pytest.raises(IndexUnavailable) as caught:
        required(server)
    assert str(caught.value) == f"`{server.base}/files/torch-2.5.1.tar.gz`: is not a tar.gz that can be read"


def test_an_sdist_that_is_another_one(server: Server) -> None:
    server.html("torch", anchor("torch-2.5.1.tar.gz", b"another"))
    server.pages["/files/torch-2.5.1.tar.gz"] = Reply(body=sdist("torch", "2.5.1", metadata("torch", "2.5.1")))
    with pytest.raises(IndexUnavailable) as caught:
        required(server)
    assert str(caught.value) == (
        f"`{server.base}/files/torch-2.5.1.tar.gz`: is not the file that the index lists: its sha256 differs"
    )


def test_of_several_builds_the_one_that_is_installed_speaks(server: Server) -> None:
    names = ["torch-2.5.1-py3-none-any.whl", "torch-2.5.1+cu124-py3-none-any.whl", "torch-2.5.1+cpu-py3-none-any.whl"]
    server.html("torch", *map(anchor, names))
    for name in names:
        server.pages[f"/files/{name}.metadata"] = Reply(body=metadata("torch", name.split("-")[1], name))
    assert required(server) == (names[1],)


def test_the_wheel_for_the_machine_speaks_for_a_release(server: Server) -> None:
    other = TORCH.replace("manylinux1_x86_64", "macosx_11_0_arm64")
    server.html("torch", anchor("torch-2.5.1.tar.gz"), anchor(other), anchor(TORCH))
    for name in (other, TORCH):
        server.pages[f"/files/{name}.metadata"] = Reply(body=metadata("torch", "2.5.1", name))
    assert required(server) == (TORCH,)


def test_a_server_without_metadata_beside_its_files_is_not_asked_for_it_for_ever(server: Server) -> None:
    with index(server) as one:
        for number in range(5):
            built = wheel(f"p{number}", "1.0", "numpy")
            server.html(f"p{number}", anchor(f"p{number}-1.0-py3-none-any.whl", built))
            server.pages[f"/files/p{number}-1.0-py3-none-any.whl"] = Reply(body=built, ranges=True)
            assert one.requires(one.releases(f"p{number}")[0]) == ("numpy",)
    assert sum(path.endswith(".metadata") for path in server.paths) == 3


def test_a_release_that_no_index_has(server: Server) -> None:
    with index(server) as one, pytest.raises(IndexUnavailable) as caught:
        one.requires(RELEASE)
    assert str(caught.value) == f"the package index `{server.base}/simple` has no `torch` 2.5.1"


# The cache


def test_what_is_fresh_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    server.html("torch", anchor(TORCH))
    server.pages[f"/files/{TORCH}.metadata"] = Reply(body=metadata("torch", "2.5.1", "numpy"))
    server.pages["/links.html"] = Reply(body=anchor("numpy-2.0.0.tar.gz").encode(), headers=HTML)
    for requests in (4, 0):
        links = IndexLocation(url=f"{server.base}/links.html", find_links=True)
        with PackageIndex([simple(server), links], cache=tmp_path, limits=QUICK) as one:
            one.expect(["torch", "numpy"])
            assert one.releases("torch") == (RELEASE,)
            one.expect_requirements([RELEASE])
            assert one.requires(RELEASE) == ("numpy",)
            assert one.distributions("torch", Version("2.5.1")) == (
                Distribution(filename=TORCH, url=f"{server.base}/files/{TORCH}"),
            )
            assert [str(each.version) for each in one.releases("numpy")] == ["2.0.0"]
            assert one.requests == requests


def age(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (0, time.time() - 3600))


def test_what_is_old_is_asked_for_on_condition(server: Server, tmp_path: Path) -> None:
    server.html("torch", anchor(TORCH), ETag='"one"', **{"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"})
    with index(server, cache=tmp_path) as one:
        assert one.releases("torch") == (RELEASE,)
    age(tmp_path)
    server.pages["/simple/torch/"] = Reply(304)
    for requests in (1, 0):  # the answer makes it fresh again
        with index(server, cache=tmp_path) as one:
            assert one.releases("torch") == (RELEASE,)
            assert one.requests == requests
    assert [(asked.headers.get("if-none-match"), asked.headers.get("if-modified-since")) for asked in server.asked] == [
        (None, None),
        ('"one"', "Wed, 21 Oct 2015 07:28:00 GMT"),
    ]


def test_what_was_asked_for_in_the_future_is_not_fresh(server: Server, tmp_path: Path) -> None:
    server.html("torch", anchor(TORCH))
    for _ in range(2):
        with index(server, cache=tmp_path) as one:
            assert one.releases("torch") == (RELEASE,)
            assert one.requests == 1
        for path in tmp_path.rglob("*"):
            os.utime(path, (0, time.time() + 3600))


def test_what_has_changed_is_replaced(server: Server, tmp_path: Path) -> None:
    server.html("torch", anchor("torch-1.0.tar.gz"), ETag='"one"')
    with index(server, cache=tmp_path) as one:
        assert [str(each.version) for each in one.releases("torch")] == ["1.0"]
    age(tmp_path)
    server.html("torch", anchor(TORCH))
    for _ in range(2):
        with index(server, cache=tmp_path) as one:
            assert one.releases("torch") == (RELEASE,)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: b"{}\n" + data,
        lambda data: data.replace(b'"2.5.1"', b'"2.5.2"'),
        bytes.swapcase,
    ],
)
def test_an_entry_that_is_damaged_is_not_there(server: Server, tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    server.html("torch", anchor(TORCH))
    for requests in (1, 1, 0):
        with index(server, cache=tmp_path) as one:
            assert one.releases("torch") == (RELEASE,)
            assert one.requests == requests
        if requests and len(server.asked) == 1:
            for path in tmp_path.rglob("*"):
                if path.is_file():
                    path.write_bytes(damage(path.read_bytes()))


def test_a_cache_that_cannot_be_written_is_said_once(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    server.html("torch", anchor(TORCH))
    server.html("numpy", anchor("numpy-1.0.tar.gz"))
    with index(server, cache=tmp_path / "cache") as one:
        one.expect(["torch", "numpy"])
        assert one.releases("torch") == (RELEASE,)
        folder = tmp_path / "cache" / "index-1"
        assert one.notes == (f"`{folder}`: what the index answers cannot be kept: Not a directory",)


def test_several_write_one_cache(server: Server, tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(8)]
    for name in names:
        server.html(name, anchor(f"{name}-1.0.tar.gz"))
    catalogues = [index(server, cache=tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=one.expect, args=[names]) for one in catalogues]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in catalogues:
        assert [len(one.releases(name)) for name in names] == [1] * 8
        one.close()
    with index(server, cache=tmp_path) as one:
        one.expect(names)
        assert one.requests == 0
    assert [path for path in tmp_path.rglob(".*") if path.is_file()] == []


# Side by side


def test_progress_is_told(server: Server) -> None:
    server.html("torch", anchor(TORCH))
    server.pages[f"/files/{TORCH}.metadata"] = Reply(body=metadata("torch", "2.5.1"))
    told: list[tuple[int, int, str]] = []
    with index(server, progress=lambda *what: told.append(what)) as one:
        one.expect(["torch", "Torch", "numpy"])
        one.expect(["torch"])
        one.expect_requirements([RELEASE, RELEASE])
    assert [what[:2] for what in told] == [(1, 2), (2, 2), (1, 1)]
    assert {what[2] for what in told} == {"torch", "numpy", "torch 2.5.1"}


def test_expecting_raises_nothing_and_asking_does(server: Server) -> None:
    server.pages["/simple/torch/"] = Reply(500)
    with index(server) as one:
        one.expect(["torch"])
        one.expect_requirements([RELEASE])
        for _ in range(2):
            with pytest.raises(IndexUnavailable):
                one.releases("torch")
        with pytest.raises(IndexUnavailable):
            one.requires(RELEASE)
        assert one.requests == 3


def test_an_interruption_is_passed_on(server: Server) -> None:
    server.html("torch", anchor(TORCH))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    one = index(server, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        one.expect(["torch"])
    assert problem(one, "numpy") == f"`{server.base}/simple/numpy/`: was given up"


@pytest.mark.network
def test_a_real_index(tmp_path: Path) -> None:
    pypi_simple = pytest.importorskip("pypi_simple")
    location = IndexLocation(url=pypi_simple.PYPI_SIMPLE_ENDPOINT)
    for cold in (True, False):
        with PackageIndex([location], cache=tmp_path) as one:
            one.expect(["transformers", "tokenizers", "gradcompat-is-no-such-name"])
            found = {str(release.version): release for release in one.releases("transformers")}
            assert one.releases("gradcompat-is-no-such-name") == ()
            requires = one.requires(found["4.50.0"])
            assert requires is not None
            assert "tokenizers<0.22,>=0.21" in [line.replace(" ", "") for line in requires]
            assert found["4.50.0"].wheels == ("py3-none-any",)
            [built, _] = one.distributions("transformers", Version("4.50.0"))
            assert len(built.hashes["sha256"]) == 64
            assert (one.requests > 0) is cold
    assert "transformers" not in sys.modules
