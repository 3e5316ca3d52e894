"""Markdown table of the measurements; the JSON file holds the document that it is made from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FORMAT_VERSION = "1.0"
_HEADER = (
    "what",
    "nodes",
    "runs",
    "Hetzner requests",
    "Kubernetes requests",
    "CPU user + system s",
    "CPU ratio",
    "wall s",
    "peak MiB",
    "sandbox CPU s",
)


def render(document: Mapping[str, Any]) -> str:
    """The table, the budgets, and what was wrong."""
    return "".join(f"{line}\n" for line in _lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    conditions = document["conditions"]
    yield (
        f"hcloud-reconciler {document['tool_version']}, Python {document['python']}, {document['cpus']} CPUs, load"
        f" {document['load'][0]}; latency {conditions['latency_ms']} ms, actions {conditions['action_ms']} ms"
    )
    yield ""
    yield _row(_HEADER)
    yield _row(["---", *["---:"] * (len(_HEADER) - 1)])
    for row in document["rows"]:
        yield _row(_cells(row))
    for known in document["hcloud-cloud-controller-manager"]:
        refused = f", {known['refused']} refused" if "refused" in known else ""
        requests = f"{known.get('hetzner_requests', '')}{refused}"
        cells = [f"HCCM, {known['what']}", str(known["nodes"]), "", requests, "", "", "", f"{known['wall_s']:.1f}"]
        yield _row([*cells, known.get("peak_mib", ""), ""])
    yield ""
    yield "CPU ratio: CPU as a multiple of a fixed piece of Python work, measured beside it. Medians of the runs."
    yield "HCCM is hcloud-cloud-controller-manager: known figures for the default conditions, not measured in this run."
    yield from _budgets(document)
    yield from _aims(document)
    yield from _loop(document["loop"], document["aims"]["loop"])
    for name, cost in document["answers"].items():
        kept = _kept(cost["wall_s"], document["aims"]["answers"][name], "s", 2)
        yield f"Answer to {name}: {kept}, {cost['cpu_s']:.2f} s of CPU."
    yield from _compared(document["rows"])
    for row in document["rows"]:
        if row.get("served_s") is not None:
            yield f"Served in {row['name']} at {row['nodes']} nodes: all after {row['served_s']:.1f} s."
    for remark in document["remarks"]:
        yield f"Note: {remark}."
    for problem in document["problems"]:
        yield f"PROBLEM: {problem}"


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        row["name"],
        str(row["nodes"]),
        str(row["repetitions"]),
        " + Robot ".join(_requests(row["requests"][api]) for api in ("hetzner", "robot") if api in row["requests"]),
        _requests(row["requests"]["kubernetes"]),
        f"{_number(row['user_s'])} + {_number(row['system_s'])}",
        _number(row["cpu_ratio"], 1),
        _number(row["wall_s"]),
        _number(row["peak_mib"], 0),
        _number(row["sandbox_cpu_s"]),
    ]


def _budgets(document: Mapping[str, Any]) -> Iterator[str]:
    budgets = document["budgets"]
    for row in document["rows"]:
        if row["name"] != "further pass" or row["nodes"] != budgets["nodes"] or row["cpu_s"] is None:
            continue
        for measure, unit in (("cpu_s", "s"), ("peak_mib", "MiB")):
            kept = "within" if row[measure] <= budgets[measure] else "OVER"
            yield f"Budget of a pass at {row['nodes']} nodes: {row[measure]:.2f} {unit} {kept} {budgets[measure]:.1f}."


def _aims(document: Mapping[str, Any]) -> Iterator[str]:
    """How the rows with an aim kept it; nothing under other conditions than those that the aims were set for."""
    if not document["aims"]["conditions"].items() <= document["conditions"].items():
        return
    aims = {(aim["name"], aim["nodes"]): aim for aim in document["aims"]["rows"]}
    for row in document["rows"]:
        aim = aims.get((row["name"], row["nodes"]))
        if aim is not None:
            requests = sum(row["requests"]["hetzner"].values())
            parts = [
                _kept(row["wall_s"], aim["wall_s"], "s", 2),
                _kept(requests, aim["hetzner_requests"], "Hetzner requests", 0),
            ]
            if aim["peak_mib"] is not None:
                parts.append(_kept(row["peak_mib"], aim["peak_mib"], "MiB", 0))
            yield f"Aim of {row['name']} at {row['nodes']} nodes: {', '.join(parts)}."


def _loop(loop: Mapping[str, Any], aim: Mapping[str, float]) -> Iterator[str]:
    """What a loop costs that no pass does, whatever the conditions are."""
    cpu_s = loop["first_request_cpu_s"]
    used = "" if cpu_s is None else f", {cpu_s:.2f} s of CPU"
    yield f"First request of a loop: {_kept(loop['first_request_s'], aim['first_request_s'], 's', 2)}{used}."
    for peak in loop["peaks"]:
        if peak["peak_mib"] is not None:
            kept = _kept(peak["peak_mib"], aim["peak_mib"], "MiB", 1)
            yield f"Peak of a loop that {peak['nodes']} nodes join: {kept}."
    page = loop["page"]
    if None not in (page["off_mib"], page["on_mib"]):
        more = _kept(page["on_mib"] - page["off_mib"], aim["page_mib"], "MiB", 1)
        where = f"to a loop that {page['nodes']} nodes join"
        yield f"A page that is not asked for adds {where}: {more}, on top of {page['off_mib']:.1f} MiB."


def _compared(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What a row costs as a multiple of another one of the same run."""
    found = {(row["name"], row["nodes"]): row for row in rows}
    parts = (("CPU", "cpu_ratio"), ("time", "wall_s"), ("memory", "peak_mib"))
    for row in rows:
        other = found.get((row.get("beside"), row["nodes"]))
        if other is not None and None not in [each[measure] for each in (row, other) for _, measure in parts]:
            ratios = ", ".join(f"{row[measure] / other[measure]:.2f} times the {what}" for what, measure in parts)
            yield f"{row['name']} at {row['nodes']} nodes: {ratios} of {other['name']}."


def _kept(value: float, limit: float, unit: str, digits: int) -> str:
    return f"{value:.{digits}f} {unit} {'within' if value <= limit else 'OVER'} {limit:g}"


def _requests(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {method}" for method, number in counts.items()) or "0"


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
