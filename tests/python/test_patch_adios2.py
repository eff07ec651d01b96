"""tools/patch_adios2.py changes exactly the lines that it names, or stops."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/patch_adios2.py"
EVPATH, BP5 = "thirdparty/EVPath/EVPath/", "source/adios2/engine/bp5/"
LINES = {
    EVPATH + "cm.c": ["uint64_t seed = getpid() + time(NULL);"],
    EVPATH + "cmsockets.c": [
        "linger_val.l_linger = 60;",
        "socket_conn_data = create_socket_conn_data(svc);",
        "if (listen(conn_sock, FD_SETSIZE)) {",
        "linger_val.l_linger = 60;",
    ],
    BP5 + "BP5Reader.cpp": [
        "while (Position < buffer.m_Buffer.size())",
        "MMI.MetaMetaID = buffer.Data() + Position;",
    ],
}


def source(place, lines):
    for name, texts in lines.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("".join(f"    before\n    {text}\n    after\n" for text in texts))
    core = place / "source/adios2"
    (core / "operator").mkdir(parents=True)
    (core / "CMakeLists.txt").write_text("add_library(adios2_core)\n")
    (core / "operator/OperatorFactory.h").write_text("struct Factory;\n")


def patch(place):
    return subprocess.run([sys.executable, TOOL, place], capture_output=True, text=True, check=False)


def test_each_line_is_replaced(tmp_path):
    source(tmp_path, LINES)
    assert patch(tmp_path).returncode == 0
    cm, sockets, reader = ((tmp_path / name).read_text() for name in LINES)
    assert "getentropy(&seed" in cm
    assert "int tailrace_adios2_patched(void) { return 1; }" in cm
    assert sockets.count("l_linger = 1;") == 2
    assert sockets.index("MSG_PEEK") < sockets.index("socket_conn_data = create")
    assert reader.index(">= 2 * sizeof(uint64_t))") < reader.index("> rest") < reader.index("MMI.MetaMetaID = ")
    core = tmp_path / "source/adios2"
    assert "UNITY_BUILD ON" in (core / "CMakeLists.txt").read_text()
    assert (core / "operator/OperatorFactory.h").read_text() == "#pragma once\nstruct Factory;\n"


def test_another_version_stops_the_build(tmp_path):
    source(tmp_path, {**LINES, EVPATH + "cm.c": ["uint64_t seed = something_else();"]})
    result = patch(tmp_path)
    assert result.returncode == 1
    assert "expected 1 lines 'uint64_t seed = getpid() + time(NULL);', found 0. To fix this, adapt" in result.stderr
