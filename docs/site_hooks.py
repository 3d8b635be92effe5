"""What the site has beyond the pages in this folder: a page for every example, and links to them.

Pages link to examples as files of the repository (`../examples/table/windows.py`), so that they work where the
repository is read. On the site each example is a page of its own, made here, and such links lead there.
"""

from __future__ import annotations

import pathlib
import posixpath
import re
from typing import Any

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
_LINK = re.compile(r"\]\(((?:\.\./)+)examples/([\w/]+)\.py\)")


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages of examples, and one that lists them."""
    programs = sorted((ROOT / "examples").glob("*/*.py"))
    for path in programs:
        name = path.relative_to(ROOT).with_suffix("")
        text = f"# {path.stem}\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
        files.append(_hidden(config, f"{name.as_posix()}.md", text))
    files.append(File.generated(config, "examples/index.md", content=_index(programs)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lets links to examples lead to their pages."""
    folder = posixpath.dirname(page.file.src_uri)

    def page_of(match: re.Match[str]) -> str:
        return f"]({posixpath.relpath(f'examples/{match[2]}.md', folder or '.')})"

    return _LINK.sub(page_of, markdown)


def _hidden(config: Any, uri: str, text: str) -> Any:
    """A page that is not in the navigation, on purpose."""
    from mkdocs.structure.files import InclusionLevel

    file = File.generated(config, uri, content=text)
    file.inclusion = InclusionLevel.NOT_IN_NAV
    return file


def _index(programs: list[pathlib.Path]) -> str:
    lines = ["# Examples", "", "Each runs as it stands: `python examples/first_hour/word_count.py`."]
    folder = ""
    for path in programs:
        if path.parent.name != folder:
            folder = path.parent.name
            lines += ["", f"## {folder.replace('_', ' ').capitalize()}", ""]
        first = path.read_text(encoding="utf-8").strip('"').split("\n")[0].strip('"')
        lines.append(f"- [{path.stem}]({folder}/{path.stem}.md): {first}")
    return "\n".join(lines) + "\n"
