"""Releases in folders of their own, laid over one base environment: many releases, one torch.

A layer is what ``pip install --no-deps --target`` makes of one release. It is built beside its place and moved there,
so that a layer that exists is whole; several processes may want the same one. What a killed process has left half built
is removed when the next layer is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from packaging.version import Version

from gradcompat.errors import ProbeUnavailable
from gradcompat.model.release import Catalogue, Release
from gradcompat.processes.executables import find_program

_NEUTRAL = Path(__file__).parent  # a working folder that is not that of a project
_BUILD_SECONDS = 600
# dill, and datasets with it, pickles modules piece by piece unless this stands in their path.
_INSTALLED = "site-packages"
_TOO_LONG = 2 * _BUILD_SECONDS  # nobody is building it any more
# What uv and pip say where an index answered, and has no such release for this interpreter. pip says the same where the
# index did not answer, but then it has tried again before.
_NONE_FITS = re.compile(rb"No solution found|No matching distribution found")
_NO_ANSWER = re.compile(rb"Retrying|connection broken|Failed to fetch")
_DESCRIBE = """\
import json, platform, sys
try:
    from importlib.metadata import distributions
except ImportError:
    from importlib_metadata import distributions
found = {}
for one in distributions():
    name = one.metadata["Name"]
    if name:
        found.setdefault(name, one.version)
libc = platform.libc_ver()
print(json.dumps({
    "python": platform.python_version(), "platform": sys.platform, "machine": platform.machine(),
    "implementation": "pp" if sys.implementation.name == "pypy" else "cp",
    "glibc": libc[1] if libc[0] == "glibc" else None, "packages": found,
}))
"""


class LayerFailed(ProbeUnavailable):
    """A release could not be laid down today: no space, no answer. Another day it may be."""


class NoLayer(LayerFailed):
    """There is nothing of this release that the interpreter could use, and there will not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The environment below all layers, as it says of itself.

    Attributes:
        interpreter: its executable.
        python: its full version.
        platform: ``sys.platform``.
        machine: ``platform.machine()``.
        implementation: ``cp`` or ``pp``.
        glibc: version of the C library, if it is glibc.
        packages: name as written in the metadata → version.
    """

    interpreter: Path
    python: str
    platform: str
    machine: str
    implementation: str
    glibc: str | None
    packages: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """One release to lay down.

    Attributes:
        name: of the package.
        version: exactly that one; yanked ones too.
        built: it has no wheels at all, so that everybody builds it.
    """

    name: str
    version: str
    built: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the installer gets releases from, beside what its own configuration says.

    Attributes:
        index_url: in the place of the main index.
        extra_index_urls: beside it.
        offline: from its cache alone.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    offline: bool = False


CONFIGURED = Origin()


def describe(interpreter: Path) -> Base:
    """Ask an interpreter what it is and what it has.

    Raises:
        ProbeUnavailable: if it does not answer.
    """
    try:
        done = subprocess.run(  # noqa: S603  # the interpreter that the user named
            [str(interpreter), "-I", "-c", _DESCRIBE], capture_output=True, cwd=_NEUTRAL, timeout=60, check=True
        )
        said = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else "does not answer"
        raise ProbeUnavailable(str(reason), path=str(interpreter), hint="name a Python 3.8 or later") from None
    return Base(interpreter=interpreter, **said)


def layer(base: Base, laid: Overlay, cache: Path, origin: Origin = CONFIGURED) -> Path:
    """The folder of one release, built if it is not there yet.

    Raises:
        NoLayer: if the index has none of it that fits.
        LayerFailed: if it could not be installed for another reason.
    """
    name, version = laid.name, laid.version
    short = "".join(base.python.split(".")[:2])
    place = cache / f"{base.implementation}{short}-{_INSTALLED}" / f"{name}-{version}"
    if os.path.isdir(place):
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _sweep(place.parent)
        building = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=place.parent))
    except OSError as error:
        raise LayerFailed(f"no folder for {name} {version}: {error.strerror}", path=str(cache)) from None
    try:
        _install(base, laid, building, origin)
        building.chmod(0o755)  # a temporary folder is its maker's alone, and layers are shared
        with suppress(OSError):  # somebody else was quicker, and theirs is as good
            building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    if not os.path.isdir(place):
        raise LayerFailed(f"{name} {version} could not be put in its place", path=str(place))
    return place


@dataclass(frozen=True, slots=True, kw_only=True)
class Laying:
    """A catalogue that also knows what a release requires that has no wheel and does not say so in its sdist.

    Its authors say it in code, as those of DeepSpeed do. So it is laid down, which measuring it takes anyway, and the
    layer says.

    Attributes:
        catalogue: is asked first.
        base: whose interpreter builds.
        cache: the folder of all layers.
        origin: where releases come from.
    """

    catalogue: Catalogue
    base: Base
    cache: Path
    origin: Origin = CONFIGURED

    @property
    def described(self) -> str:
        """What it is, in words for the user."""
        return self.catalogue.described

    def expect(self, names: Iterable[str]) -> None:
        """These packages will be asked for."""
        self.catalogue.expect(names)

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        """The requirements of these will be asked for."""
        self.catalogue.expect_requirements(releases)

    def releases(self, name: str) -> tuple[Release, ...]:
        """All releases of a package, from low to high."""
        return self.catalogue.releases(name)

    def release(self, name: str, version: Version) -> Release | None:
        """One of them."""
        return self.catalogue.release(name, version)

    def requires(self, release: Release) -> tuple[str, ...] | None:
        """Its Requires-Dist, as written; None where it could not be laid down to be asked."""
        said = self.catalogue.requires(release)
        if said is not None or release.wheels or not release.sdist:
            return said
        laid = Overlay(name=release.name, version=str(release.version), built=True)
        try:
            place = layer(self.base, laid, self.cache, self.origin)
            (path,) = place.glob("*.dist-info/METADATA")
            message = HeaderParser().parsestr(path.read_text("utf-8", "replace"))
        except (LayerFailed, OSError, ValueError):
            return None
        return tuple(" ".join(str(line).split()) for line in message.get_all("Requires-Dist", []))


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed have left half built."""
    for one in folder.glob(".*-*"):
        with suppress(OSError):
            if time.time() - one.stat().st_mtime > _TOO_LONG:
                shutil.rmtree(one, ignore_errors=True)


def _install(base: Base, laid: Overlay, folder: Path, origin: Origin) -> None:
    requirement = f"{laid.name}=={laid.version}"
    uv = find_program("uv")
    # uv runs nothing of the current folder, and its uv.toml there counts; pip would be imported from there.
    installer = [uv, "pip"] if uv is not None else [str(base.interpreter), "-I", "-m", "pip"]
    choice = ["--python", str(base.interpreter)] if uv is not None else ["--no-compile", "--disable-pip-version-check"]
    command = [*installer, "install", *choice, "--quiet", "--no-deps", "--target", str(folder), requirement]
    # A build would not give what users have, except where they have to build too; and then it may need torch.
    command += ["--no-build-isolation"] if laid.built else ["--only-binary", ":all:"]
    command += [] if origin.index_url is None else ["--index-url", origin.index_url]
    command += [part for url in origin.extra_index_urls for part in ("--extra-index-url", url)]
    if origin.offline:
        command += ["--offline"] if uv is not None else ["--no-index"]  # pip has no way to its cache alone
    try:
        done = subprocess.run(  # noqa: S603  # an installer with a name and a version
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=None if uv is not None else folder,
            timeout=_BUILD_SECONDS,
            check=False,
        )
    except OSError as error:
        raise LayerFailed(f"{requirement} could not be installed: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise LayerFailed(f"{requirement} could not be installed within {_BUILD_SECONDS} s") from None
    if done.returncode == 0:
        return
    if _NONE_FITS.search(done.stderr) and not _NO_ANSWER.search(done.stderr) and not origin.offline:
        raise NoLayer(f"there is no {requirement} for Python {base.python} on {base.platform}-{base.machine}")
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    raise LayerFailed(f"{requirement} could not be installed: {_why(lines) or f'status {done.returncode}'}")


def _why(lines: list[str]) -> str:
    """The line that says most: uv ends in the innermost cause, pip in hints of its own."""
    said = [line for line in lines if line.startswith(("error:", "ERROR:", "cause:", "Caused by:"))] or lines
    return said[-1].partition(":")[2].strip() or said[-1] if said else ""
