"""Records what real Flink answers to the programs here. Needs a Python with `apache-flink==2.3.0`, not penstock.

    python tests/conformance/record.py PROGRAM.py...           show the answers
    python tests/conformance/record.py --write PROGRAM.py...   store each as PROGRAM.expected
    python tests/conformance/record.py --check PROGRAM.py...   say which differ from what is stored

A program prints one line for each result. Lines are compared as a sorted list unless one of the first lines is
`# @ordered`. A program with `# @error build` or `# @error run` is to be refused, when it is built or at the latest
while it runs; of those the message is stored, for people to read: the outermost error, then its cause.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

_ERROR = re.compile(r"(: |Caused by: )?([\w$]+\.)+[\w$]*(Error|Exception)\b")


def answer(program: pathlib.Path) -> list[str]:
    """The lines of a program's answer; a refused one must end with an error, any other must not."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    env = dict(os.environ, PATH=path, TZ="UTC", PYTHONHASHSEED="0")
    done = subprocess.run(
        [sys.executable, str(program)], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    head = "\n".join(program.read_text().splitlines()[:5])
    if "# @error" in head:
        if not done.returncode:
            raise RuntimeError("was not refused")
        return refusal(done.stderr)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines if "# @ordered" in head else sorted(lines)


def refusal(stderr: str) -> list[str]:
    """The error that reached the program and, where Java gave one, the cause at the bottom, each with its message."""
    lines = stderr[stderr.rindex("Traceback (most recent call last)") :].splitlines()
    starts = [i for i, line in enumerate(lines) if _ERROR.match(line)]
    if not starts:
        return [line for line in lines if re.match(r"\w*(Error|Exception)\b", line)]
    outer = next((i for i in starts if "Py4JJavaError" not in lines[i]), starts[0])
    found = [_message(lines, i) for i in sorted({outer, starts[-1]})]
    return [text for text in found if "Failed to fetch next result" not in text]


def _message(lines: list[str], start: int) -> str:
    """From a line on up to the stack trace, as one line, without what differs from run to run."""
    parts = []
    for line in lines[start:]:
        if line.startswith(("\tat ", "\t...")) or (parts and line.startswith("Caused by: ")):
            break
        parts.append(line.strip())
    text = re.sub(r"^(: |Caused by: )", "", " ".join(parts).strip())
    return re.sub(r"(\$)\d+(\*)", r"\1N\2", re.sub(r"^pyflink\.\S+: (?=org\.)", "", text))


def main() -> int:
    parser = argparse.ArgumentParser(description="Records what real Flink answers.")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    failed = 0
    for program in args.programs:
        try:
            text = "\n".join(answer(program)) + "\n"
        except Exception as error:
            failed += 1
            print(f"!! {program}: {error}", file=sys.stderr)
            continue
        stored = program.with_suffix(".expected")
        if args.write:
            stored.write_text(text)
        if args.check and stored.read_text() != text:
            failed += 1
            print(f"!! {program} differs:\n{text}", file=sys.stderr)
        elif not args.write and not args.check:
            print(text, end="")
        print(f"== {program} {text.count(chr(10))} lines", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
