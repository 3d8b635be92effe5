"""What the driver's JVM is told about compiling."""

from __future__ import annotations

from penstock.runtime.spark.jit import diagnostic_command
from penstock.runtime.spark.session import get_spark


def test_a_session_of_ours_compiles_planning_code_quickly_only() -> None:
    told = diagnostic_command(get_spark().sparkContext, "compilerDirectivesPrint")
    assert "org/codehaus/janino/*.*" in told
    assert "Exclude:true" in told.replace(" ", "")
