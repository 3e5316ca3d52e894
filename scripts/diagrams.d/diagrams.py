"""The diagrams of the documentation, as SVG in ``docs/images``."""

from pathlib import Path

from drawing import Arrow, Box, Diagram, Kind, Side, svg

_IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

PASS = Diagram(
    "A pass",
    "Both APIs are observed, the difference is planned and judged by the guards, what is allowed is applied, and what "
    "was touched is observed again, at most three times; in the end it is reported.",
    {
        "observe": Box(0, 1, "Observe both APIs", "reconciler/observe", Kind.RUNTIME),
        "plan": Box(1, 1, "Plan the difference", "desired/planner.py", Kind.PLANNER),
        "judge": Box(2, 1, "Judge each change", "desired/guards", Kind.PLANNER),
        "apply": Box(2, 2, "Apply what is allowed", "actuators", Kind.WRITER),
        "again": Box(1, 2, "Observe it again", "reconciler/observe", Kind.RUNTIME),
        "report": Box(2, 0, "Report", "reconciler/report, telemetry", Kind.RUNTIME),
    },
    (
        Arrow("observe", "plan", "snapshot"),
        Arrow("plan", "judge", "plan"),
        Arrow("judge", "apply", "decisions", Side.BOTTOM, Side.TOP),
        Arrow("apply", "again", "outcomes", Side.LEFT, Side.RIGHT),
        Arrow("again", "plan", "snapshot, at most 3 rounds", Side.TOP, Side.BOTTOM),
        Arrow("judge", "report", "nothing left to do", Side.TOP, Side.BOTTOM),
    ),
)

LAYERS = Diagram(
    "Packages and imports",
    "The runtime imports the actuators and the planner, the actuators import the planner, and the planner imports "
    "nothing. The sandbox shares no code with them; the command line starts it.",
    {
        "launch": Box(0, 0, "launch/hcloud_reconciler", "what is installed"),
        "runtime": Box(1, 0, "reconciler/", "the runtime", Kind.RUNTIME),
        "sandbox": Box(2, 0, "reconciler/sandbox/", "simulators of the APIs"),
        "actuators": Box(1, 1, "actuators/", "everything that writes", Kind.WRITER),
        "desired": Box(2, 1, "desired/", "the planner: pure", Kind.PLANNER),
    },
    (
        Arrow("launch", "runtime", "starts"),
        Arrow("runtime", "sandbox", "starts"),
        Arrow("runtime", "actuators", "imports", Side.BOTTOM, Side.TOP),
        Arrow("actuators", "desired", "imports"),
    ),
)

NODE = Diagram(
    "The life of a Node",
    "A Node with the taint uninitialized joins when one server fits it, and waits while none or several do. Then it is "
    "kept in sync with its server. It departs when the server is gone and its kubelet is silent, and is deleted once "
    "that is proven. A server that is off only gives it the shutdown taint.",
    {
        "waiting": Box(0, 0, "Waiting", "no server fits, or several"),
        "joining": Box(0, 1, "Joining", "exactly one server fits"),
        "settled": Box(1.2, 1, "Settled", "kept in sync with its server", Kind.GOOD),
        "off": Box(1.2, 0, "Settled, shutdown taint", "its server is off", Kind.GOOD),
        "departing": Box(2.4, 1, "Departing", "waits for the proof"),
        "deleted": Box(2.4, 2, "Deleted", "", Kind.STOP),
    },
    (
        Arrow("waiting", "joining", "a server fits", Side.BOTTOM, Side.TOP),
        Arrow("joining", "settled", "initialized"),
        Arrow("settled", "off", "switched off or on", Side.TOP, Side.BOTTOM),
        Arrow("settled", "departing", "its server is gone"),
        Arrow("departing", "deleted", "proof is whole", Side.BOTTOM, Side.TOP),
    ),
)

DELETION = Diagram(
    "What a Node has to pass before it is deleted",
    "Five questions in order: is its server missing in a complete list and not found by its id; is the Node silent and "
    "old enough; is the project the cluster's; are these not too many at once; do both clouds say the same once more. "
    "Each no keeps the Node, and the report names the guard.",
    {
        "gone": Box(0, 0, "Is its server gone?", "complete list, and by its id"),
        "silent": Box(0, 1, "Is the Node silent?", "20 s not Ready, 120 s old"),
        "project": Box(0, 2, "Is it our project?", "half of the Ready ones found"),
        "many": Box(0, 3, "Are they few?", "a quarter, or announced"),
        "again": Box(0, 4, "Do both clouds agree?", "asked a last time"),
        "deleted": Box(0, 5, "Deleted", "the very object observed", Kind.STOP),
        "not_gone": Box(1.15, 0, "stays, or waits", "absence-proof", Kind.GOOD),
        "not_silent": Box(1.15, 1, "waits", "absence-proof, clock-skew", Kind.GOOD),
        "not_ours": Box(1.15, 2, "held", "project-anchor", Kind.GOOD),
        "not_few": Box(1.15, 3, "held", "node-blast-radius", Kind.GOOD),
        "not_agreed": Box(1.15, 4, "stays", "the next pass looks again", Kind.GOOD),
    },
    tuple(
        Arrow(above, below, "yes", Side.BOTTOM, Side.TOP)
        for above, below in (
            ("gone", "silent"),
            ("silent", "project"),
            ("project", "many"),
            ("many", "again"),
            ("again", "deleted"),
        )
    )
    + tuple(
        Arrow(question, otherwise, "no")
        for question, otherwise in (
            ("gone", "not_gone"),
            ("silent", "not_silent"),
            ("project", "not_ours"),
            ("many", "not_few"),
            ("again", "not_agreed"),
        )
    ),
)

HOLD = Diagram(
    "A hold and its approval",
    "A guard holds changes and prints a hash over them. A person looks and approves that hash. The next pass that "
    "holds exactly these changes applies them, once. If anything about them has changed by then, it is another hold.",
    {
        "held": Box(0, 0, "Changes are held", "a guard, and a hash"),
        "look": Box(1.1, 0, "A person looks", "reconcile holds show HASH"),
        "approve": Box(2.2, 0, "and approves", "reconcile approve HASH"),
        "applied": Box(2.2, 1, "Applied, once", "within an hour", Kind.GOOD),
        "changed": Box(0, 1, "Held anew", "under another hash", Kind.STOP),
    },
    (
        Arrow("held", "look"),
        Arrow("look", "approve"),
        Arrow("approve", "applied", "the next pass", Side.BOTTOM, Side.TOP),
        Arrow("held", "changed", "something about them changes", Side.BOTTOM, Side.TOP),
    ),
)

DIAGRAMS = {"pass": PASS, "layers": LAYERS, "node": NODE, "deletion": DELETION, "hold": HOLD}
"""Name of the file, without its ending → picture."""


def main() -> None:
    """Write all of them."""
    for name, diagram in DIAGRAMS.items():
        (_IMAGES / f"{name}.svg").write_text(svg(diagram), "utf-8")


if __name__ == "__main__":
    main()
