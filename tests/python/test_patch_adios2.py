"""tools/patch_adios2.py changes exactly the lines that it names, or stops."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools/patch_adios2.py"
EVPATH, BP5 = "thirdparty/EVPath/EVPath/", "source/adios2/engine/bp5/"
BP4 = "source/adios2/toolkit/format/bp/bp4/"
SST = "source/adios2/toolkit/sst/cp/"
CALLS = "Stream->CPInfo = CP_getCPInfo(Stream->ConfigParams->ControlModule);"
WRITER_OPEN = "SstStream SstWriterOpen(const char *Name, SstParams Params, SMPI_Comm comm)"
LINES = {
    EVPATH + "cm.c": ["uint64_t seed = getpid() + time(NULL);"],
    EVPATH + "cmsockets.c": [
        "static atom_t CM_IP_ADDR = -1;",
        "linger_val.l_linger = 60;",
        "socket_conn_data = create_socket_conn_data(svc);",
        "((struct sockaddr_in *) &sock_addr)->sin_family = AF_INET;",
        "sock_addr.sin_addr.s_addr = INADDR_ANY;",
        "if ((sd->listen_ports[i] == port_num) ||",
        "if (listen(conn_sock, FD_SETSIZE)) {",
        "linger_val.l_linger = 60;",
    ],
    SST + "cp_common.c": [
        "extern char *CP_GetContactString(SstStream Stream, attr_list DPAttrs)",
        "char *ret = attr_list_to_string(ContactList);",
        "CMlisten(SharedCMInfo->cm);",
    ],
    SST + "cp_internal.h": ["ssize_t OldestUnreleasedTimestep;"],
    SST + "cp_reader.c": [CALLS],
    SST + "cp_writer.c": [
        "CP_WSR_Stream->ReaderStatus = Opening;",
        WRITER_OPEN,
        CALLS,
        "Stream->Status = Established;",
    ],
    BP4 + "BP4Deserializer.tcc": [
        "auto itStep = std::next(indices.begin(), stepsStart);",
        "auto itStep = std::next(indices.begin(), blockInfo.StepsStart);",
        "auto itStep = std::next(indices.begin(), stepsStart);",
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
    cm, sockets, common, internal, sst_reader, writer, bp4, reader = ((tmp_path / name).read_text() for name in LINES)
    assert "getentropy(&seed" in cm
    assert sockets.count("l_linger = 1;") == 2
    order = ["void tailrace_adios2_ask(", "!tailrace_ask(sock, 1)", "MSG_PEEK", "socket_conn_data = create"]
    assert [sockets.index(one) for one in order] == sorted(sockets.index(one) for one in order)
    assert sockets.index("tailrace_ask(sock, 0)") < sockets.index("->sin_family = AF_INET;")
    assert "= INADDR_ANY;" not in sockets
    assert sockets.index("s_addr) continue;") < sockets.index("if ((sd->listen_ports[i]")
    assert common.index("int tailrace_adios2_port(void)") < common.index("&TailracePort") < common.index("char *ret = ")
    assert "CMlisten(" not in common
    assert "int TailraceSocket;" in internal
    for text in (sst_reader, writer):
        assert text.index(CALLS) < text.index("free(CP_GetContactString(Stream, NULL));")
    assert writer.index("&CP_WSR_Stream->TailraceSocket") < writer.index("ReaderStatus = Opening;")
    assert writer.index("int tailrace_adios2_readers(") < writer.index(WRITER_OPEN)
    assert writer.index("Stream->Status = Established;") < writer.index("TailraceOpened = Stream;")
    assert reader.index(">= 2 * sizeof(uint64_t))") < reader.index("> rest") < reader.index("MMI.MetaMetaID = ")
    assert bp4.count("indices.find(indices.begin()->first + stepsStart)") == 2
    assert bp4.count("indices.find(indices.begin()->first + blockInfo.StepsStart)") == 1
    core = tmp_path / "source/adios2"
    assert "UNITY_BUILD ON" in (core / "CMakeLists.txt").read_text()
    assert (core / "operator/OperatorFactory.h").read_text() == "#pragma once\nstruct Factory;\n"


def test_another_version_stops_the_build(tmp_path):
    source(tmp_path, {**LINES, EVPATH + "cm.c": ["uint64_t seed = something_else();"]})
    result = patch(tmp_path)
    assert result.returncode == 1
    assert "expected 1 lines 'uint64_t seed = getpid() + time(NULL);', found 0. To fix this, adapt" in result.stderr
