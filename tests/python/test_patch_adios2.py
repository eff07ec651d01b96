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
POSIX_WRITE = "void FilePOSIX::Write(const char *buffer, size_t size, size_t start)"


def destructor(kind, before):
    return "\n".join(
        [
            "{",
            "    if (Verbose)",
            "    {",
            f'        std::cerr << "{kind} Writer \\"" << m_Name << "\\" Destroyed without a prior Close()."',
            "                  << std::endl;",
            '        std::cerr << "This may result in corrupt output." << std::endl;',
            "    }",
            *before,
            "    UpdateActiveFlag(false);",
            "    m_IsOpen = false;",
        ]
    )


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
        "STREAM_MUTEX_UNLOCK(Stream);\n    res = CMwrite(conn, f, Msg);",
        "STREAM_MUTEX_UNLOCK(Stream);\n    res = CMwrite(conn, f, Msg);",
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
    "source/adios2/toolkit/transport/file/FilePOSIX.cpp": [
        POSIX_WRITE,
        "    start = static_cast<size_t>(pos);\n}",
        "for (; c < iovcnt; ++c)",
        "static constexpr size_t WritevMaxBytes = INT32_MAX;",
        "const int status = close(m_FileDescriptor);",
    ],
    "source/adios2/engine/bp4/BP4Writer.cpp": [destructor("BP4", ["    // at least close metadata index file"])],
    "source/adios2/toolkit/remote/CMakeLists.txt": ["if (NOT ADIOS2_USE_PIP)"],
    "source/utils/CMakeLists.txt": ["# ADIOS_REORGANIZE"],
    BP5 + "BP5Writer.cpp": [destructor("BP5", ["    // close metadata index file", "    if (m_Comm.Rank() == 0)"])],
}


def source(place, lines):
    for name, texts in lines.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("".join(f"    before\n    {text}\n    after\n" for text in texts))
    core = place / "source/adios2"
    (core / "operator").mkdir(parents=True)
    (core / "CMakeLists.txt").write_text("add_library(adios2_core)\n")
    (place / "bindings/CXX").mkdir(parents=True)
    (place / "bindings/CXX/CMakeLists.txt").write_text("add_library(adios2_cxx)\n")
    (core / "operator/OperatorFactory.h").write_text("struct Factory;\n")


def patch(place):
    return subprocess.run([sys.executable, TOOL, place], capture_output=True, text=True, check=False)


def test_each_line_is_replaced(tmp_path):
    source(tmp_path, LINES)
    assert patch(tmp_path).returncode == 0
    texts = ((tmp_path / name).read_text() for name in LINES)
    cm, sockets, common, internal, sst_reader, writer, reads, reader, posix, bp4, remote, tools, bp5 = texts
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
    held = ["CMConnection_add_reference(", "UNLOCK(Stream);\nres = CMwrite(", "CMConnection_dereference("]
    assert [writer.index(one) for one in held] == sorted(writer.index(one) for one in held)
    assert all(writer.count(one) == 2 for one in ("add_reference(conn)", "CMwrite(conn, f", "dereference(conn)"))
    assert "if (FALSE)" in remote and "return()" in tools
    assert writer.index("Stream->Status = Established;") < writer.index("TailraceOpened = Stream;")
    assert reader.index(">= 2 * sizeof(uint64_t))") < reader.index("> rest") < reader.index("MMI.MetaMetaID = ")
    assert "for (++c; c < iovcnt; ++c)" in posix
    assert posix.index("tailrace_adios2_on_write(") < posix.index(POSIX_WRITE) < posix.index("TailraceWrote(m_Name")
    assert posix.index("TailraceTelling telling;") < posix.index("iov[i].iov_base")
    assert posix.index("= close(m_FileDescriptor)") < posix.index("m_IsOpen = false;")
    for text in (bp4, bp5):
        assert "Destroyed without" not in text
        order = ["try {", "UpdateActiveFlag(false);", "} catch", "m_IsOpen = false;"]
        assert [text.index(one) for one in order] == sorted(text.index(one) for one in order)
        assert text.count("UpdateActiveFlag") == 1
    assert reads.count("indices.find(indices.begin()->first + stepsStart)") == 2
    assert reads.count("indices.find(indices.begin()->first + blockInfo.StepsStart)") == 1
    core = tmp_path / "source/adios2"
    for name in (core / "CMakeLists.txt", tmp_path / "bindings/CXX/CMakeLists.txt"):
        assert "UNITY_BUILD ON" in name.read_text()
    assert (core / "operator/OperatorFactory.h").read_text() == "#pragma once\nstruct Factory;\n"


def test_another_version_stops_the_build(tmp_path):
    source(tmp_path, {**LINES, EVPATH + "cm.c": ["uint64_t seed = something_else();"]})
    result = patch(tmp_path)
    assert result.returncode == 1
    assert "expected 1 lines 'uint64_t seed = getpid() + time(NULL);', found 0. To fix this, adapt" in result.stderr
