"""Lists of requirements, as pip reads and prints them."""

from __future__ import annotations

from random import Random

from fuzz.grammars.words import (
    SEPARATORS,
    amount,
    chance,
    marker,
    name,
    odd,
    pick,
    secret_line,
    specifier,
    url,
    version,
)


def line(random: Random) -> str:
    """One line: a requirement, an option, a comment or nonsense."""
    draw = random.random()
    if draw < 0.6:
        return requirement(random)
    if draw < 0.8:
        return option(random)
    return pick(random, (f"# {odd(random)}", odd(random), secret_line(random), "", requirement(random) + " \\", "\\"))


def requirement(random: Random) -> str:
    """A requirement of PEP 508, with what pip allows behind it."""
    extras = pick(random, ("", "", "", "[gpu]", "[a,b]", "[" + "a," * 200 + "b]", "[", "[é]"))
    if chance(random, 0.1):
        return pick(
            random,
            (f"{name(random)}{extras} @ {url(random)}", url(random), f"-e {url(random)}", "./wheels/torch-2.5.1.whl"),
        )
    parts = name(random) + extras + pick(random, ("", " ")) + specifier(random)
    if chance(random, 0.2):
        parts += " ; " + marker(random)
    if chance(random, 0.05):
        parts += " --hash=sha256:" + "0123456789abcdef" * 4
    if chance(random, 0.1):
        parts += "  # " + odd(random)
    return parts


def option(random: Random) -> str:
    """An option of pip in a file of requirements."""
    return pick(
        random,
        (
            f"--index-url {url(random)}",
            f"--extra-index-url={url(random)}",
            f"-i {url(random)}",
            f"-f {url(random)}",
            f"--trusted-host {odd(random)}",
            f"-r {pick(random, OTHERS)}",
            f"-c {pick(random, OTHERS)}",
            f"-r{pick(random, OTHERS)}",
            f"--requirement={pick(random, OTHERS)}",
            "--pre",
            "--no-binary :all:",
            f"--{odd(random)}",
        ),
    )


OTHERS = (
    *("base.txt", "constraints.txt", "requirements.txt", "../outside.txt", "/etc/hostname", "a/../base.txt"),
    *("link.txt", "https://index.example/r.txt", "base.txt base.txt", "${HOME}/x.txt", "~/x.txt", ".", "missing.txt"),
    "../secrets/pip.conf",
)


def requirements(random: Random) -> str:
    """A whole file; now and then its lines end in what only some tools take for an end."""
    end = "\n" if chance(random, 0.85) else pick(random, SEPARATORS)
    return "".join(line(random) + end for _ in range(amount(random, 8)))


def pip_list(random: Random) -> str:
    """What ``pip list`` prints."""
    head = pick(random, ("Package Version\n------- -------\n", "Package    Version   Editable project location\n", ""))
    return head + "".join(f"{name(random)}  {version(random)}\n" for _ in range(amount(random, 10)))


def conda_list(random: Random) -> str:
    """What ``conda list`` prints."""
    head = "# packages in environment at /opt/conda:\n#\n# Name  Version  Build  Channel\n"
    return head + "".join(
        f"{name(random)}  {version(random)}  py311_{odd(random) if chance(random, 0.1) else 0}  pypi\n"
        for _ in range(amount(random, 10))
    )


def conda_explicit(random: Random) -> str:
    """What ``conda list --explicit`` prints."""
    lines = (
        f"{url(random) if chance(random, 0.2) else 'https://index.example/linux-64'}/{name(random)}-{version(random)}-0.conda"
        for _ in range(amount(random, 8))
    )
    return "# platform: linux-64\n@EXPLICIT\n" + "".join(one + "\n" for one in lines)


def dockerfile(random: Random) -> str:
    """A Dockerfile that installs packages."""
    lines = ["FROM " + pick(random, ("python:3.11", f"pytorch/pytorch:{version(random)}", "$BASE", odd(random)))]
    for _ in range(amount(random, 8)):
        lines.append(
            pick(
                random,
                (
                    f"RUN pip install {requirement(random)}",
                    f"RUN pip install --index-url {url(random)} {requirement(random)} && rm -rf /x",
                    f"RUN --mount=type=secret,id=x pip install -r {pick(random, OTHERS)}",
                    f"COPY {pick(random, OTHERS)} .",
                    f"ARG V={version(random)}",
                    f"ENV {secret_line(random)}",
                    'RUN ["pip", "install", "torch==$V"]',
                    f"RUN <<EOF\npip install {requirement(random)}\nEOF",
                    f"RUN echo '{odd(random)} \\",
                    secret_line(random),
                    "# syntax=docker/dockerfile:1",
                    "ONBUILD RUN pip install $(cat x)",
                ),
            )
        )
    return "\n".join(lines) + "\n"
