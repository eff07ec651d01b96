"""Change ADIOS2's source before tools/build_adios2.sh builds it: python3 patch_adios2.py FOLDER.

Each change replaces a line, or lines that follow one another, which must be there as often as it says: another version
of ADIOS2 stops here, and is looked at. Our library knows an ADIOS2 with these changes at run time by the functions
`tailrace_adios2_...`, and calls them: src/tailrace/io/sst/network/our_adios2.hpp and io/adios2/bp_written.cpp.
"""

import sys
from pathlib import Path

EVPATH = "thirdparty/EVPath/EVPath/"
SST = "source/adios2/toolkit/sst/cp/"
BP5_READER = "source/adios2/engine/bp5/BP5Reader.cpp"
POSIX_FILE = "source/adios2/toolkit/transport/file/FilePOSIX.cpp"
BP4 = "source/adios2/toolkit/format/bp/bp4/BP4Deserializer.tcc"

# The stream that this thread has opened to write last; and how many readers a stream has ever admitted, with the socket
# of each (-1: it is gone), and how many wait.
READERS = """static __thread SstStream TailraceOpened;
extern void *tailrace_adios2_stream(void) { return TailraceOpened; }
extern int tailrace_adios2_readers(void *stream, int *sockets, int room, int *waiting)
{
    SstStream Stream = stream;
    STREAM_MUTEX_LOCK(Stream);
    int count = Stream->ReaderCount;
    for (int i = 0; i < count && i < room; i++)
    {
        WS_ReaderInfo Reader = Stream->Readers[i];
        int There = Reader->ReaderStatus == Opening || Reader->ReaderStatus == Established;
        sockets[i] = There ? Reader->TailraceSocket : -1;
    }
    *waiting = 0;
    for (RegisterQueue One = Stream->ReaderRegisterQueue; One; One = One->Next)
        ++*waiting;
    STREAM_MUTEX_UNLOCK(Stream);
    return count;
}
"""
# Our library is told what is handed over to be written, so that it can compare it with what is in the file. WriteV
# hands some of its pieces on to Write, which must not tell them again.
WRITTEN = """static void (*TailraceWrote)(const char *name, const void *data, size_t size, size_t start);
static thread_local bool TailraceTold = false;
extern "C" __attribute__((visibility("default"))) void
tailrace_adios2_on_write(void (*wrote)(const char *name, const void *data, size_t size, size_t start))
{
    TailraceWrote = wrote;
}
struct TailraceTelling
{
    TailraceTelling() { TailraceTold = true; }
    ~TailraceTelling() { TailraceTold = false; }
};
"""
# What the destructor of an engine does that was not closed, after an error: an exception in it ends the program.
# Whether the output is complete is known, and said, by the program.
DESTRUCTOR = """{{
try {{
{}UpdateActiveFlag(false);
}} catch (const std::exception &) {{
}}
m_IsOpen = false;"""
# The iterator of the n-th step of a variable, which is known without counting where no step between lacks the variable.
NTH = (
    "auto itStep = indices.rbegin()->first - indices.begin()->first + 1 == indices.size()"
    " ? indices.find(indices.begin()->first + {0}) : std::next(indices.begin(), {0});"
)
# file, line (without its indentation), how often it is there, what takes its place
CHANGES = [
    # A connection is known by this number alone, and process number plus time are equal on two nodes of one job.
    (
        EVPATH + "cm.c", "uint64_t seed = getpid() + time(NULL);", 1,
        "uint64_t seed; if (getentropy(&seed, sizeof(seed)) != 0) seed = getpid() + time(NULL);",
    ),
    # Closing a connection to a node that is gone kept the thread that serves all others for a minute.
    (EVPATH + "cmsockets.c", "linger_val.l_linger = 60;", 2, "linger_val.l_linger = 1;"),
    # A program that connects and sends nothing kept this thread for ever, and left its connection behind when it ended.
    # Linux holds back connections without bytes (9 is TCP_DEFER_ACCEPT) for hours, and some thousands of them.
    (
        EVPATH + "cmsockets.c", "if (listen(conn_sock, FD_SETSIZE)) {", 1,
        "{ int wait = 86400; setsockopt(conn_sock, IPPROTO_TCP, 9, &wait, sizeof(wait)); }\n"
        "if (listen(conn_sock, 65536)) {",
    ),
    # Our library is asked about each socket: it sets options, and refuses connections from hosts that are not let in.
    (
        EVPATH + "cmsockets.c", "static atom_t CM_IP_ADDR = -1;", 1,
        "static atom_t CM_IP_ADDR = -1;\n"
        "static int (*tailrace_ask)(int socket, int accepted);\n"
        "extern void tailrace_adios2_ask(int (*ask)(int socket, int accepted)) { tailrace_ask = ask; }",
    ),
    (
        EVPATH + "cmsockets.c", "((struct sockaddr_in *) &sock_addr)->sin_family = AF_INET;", 1,
        "if (tailrace_ask) tailrace_ask(sock, 0);\n"
        "((struct sockaddr_in *) &sock_addr)->sin_family = AF_INET;",
    ),
    (
        EVPATH + "cmsockets.c", "socket_conn_data = create_socket_conn_data(svc);", 1,
        "if (tailrace_ask && !tailrace_ask(sock, 1)) { close(sock); return; }\n"
        "{ struct timeval limit = {0, 100000}, none = {0, 0}; char first[4];"
        " setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));"
        " if (recv(sock, first, 4, MSG_PEEK | MSG_WAITALL) != 4) { close(sock); return; }"
        " setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)); }\n"
        "socket_conn_data = create_socket_conn_data(svc);",
    ),
    # It listened on all networks, also where one was chosen, and opened a first port before it knew the choice.
    (
        EVPATH + "cmsockets.c", "sock_addr.sin_addr.s_addr = INADDR_ANY;", 1,
        "{ char *chosen; int one = get_string_attr(listen_info, attr_atom_from_string(\"IP_INTERFACE\"), &chosen);"
        " sock_addr.sin_addr.s_addr = htonl(one ? (uint32_t) IP : INADDR_ANY); }",
    ),
    (
        EVPATH + "cmsockets.c", "if ((sd->listen_ports[i] == port_num) ||", 1,
        "struct sockaddr_in there; socklen_t size = sizeof(there);"
        " if (getsockname(sd->listen_fds[i], (struct sockaddr *) &there, &size) != 0 ||"
        " there.sin_addr.s_addr != sock_addr.sin_addr.s_addr) continue;\n"
        "if ((sd->listen_ports[i] == port_num) ||",
    ),
    (SST + "cp_common.c", "CMlisten(SharedCMInfo->cm);", 1, ""),
    *(
        (
            SST + name, "Stream->CPInfo = CP_getCPInfo(Stream->ConfigParams->ControlModule);", 1,
            "Stream->CPInfo = CP_getCPInfo(Stream->ConfigParams->ControlModule);\n"
            "free(CP_GetContactString(Stream, NULL)); /* listens */",
        )
        for name in ("cp_reader.c", "cp_writer.c")
    ),
    # The writer tells nobody at which port it listens, which readers it has admitted, and which wait for that.
    (
        SST + "cp_common.c", "char *ret = attr_list_to_string(ContactList);", 1,
        "get_int_attr(ContactList, attr_atom_from_string(\"IP_PORT\"), &TailracePort);\n"
        "char *ret = attr_list_to_string(ContactList);",
    ),
    (
        SST + "cp_common.c", "extern char *CP_GetContactString(SstStream Stream, attr_list DPAttrs)", 1,
        "static __thread int TailracePort;\n"
        "extern int tailrace_adios2_port(void) { return TailracePort; }\n"
        "extern char *CP_GetContactString(SstStream Stream, attr_list DPAttrs)",
    ),
    (
        SST + "cp_internal.h", "ssize_t OldestUnreleasedTimestep;", 1,
        "ssize_t OldestUnreleasedTimestep;\n"
        "int TailraceSocket; /* of the connection that the reader has made to rank 0 */",
    ),
    (
        SST + "cp_writer.c", "CP_WSR_Stream->ReaderStatus = Opening;", 1,
        "CP_WSR_Stream->TailraceSocket = -1;\n"
        "if (conn) get_int_attr(CMConnection_get_attrs(conn), attr_atom_from_string(\"CONNECTION_FILE_DESCRIPTOR\"),"
        " &CP_WSR_Stream->TailraceSocket);\n"
        "CP_WSR_Stream->ReaderStatus = Opening;",
    ),
    (
        SST + "cp_writer.c", "SstStream SstWriterOpen(const char *Name, SstParams Params, SMPI_Comm comm)", 1,
        READERS + "SstStream SstWriterOpen(const char *Name, SstParams Params, SMPI_Comm comm)",
    ),
    (
        SST + "cp_writer.c", "Stream->Status = Established;", 1,
        "Stream->Status = Established;\n"
        "TailraceOpened = Stream;",
    ),
    # A connection that failed while a message was written to it was freed under the thread that wrote.
    (
        SST + "cp_writer.c", "STREAM_MUTEX_UNLOCK(Stream);\nres = CMwrite(conn, f, Msg);", 2,
        "CMConnection_add_reference(conn);\n"
        "STREAM_MUTEX_UNLOCK(Stream);\n"
        "res = CMwrite(conn, f, Msg);\n"
        "CMConnection_dereference(conn);",
    ),
    # A reader that opened a series while the description of its values was being written ended the program.
    (
        BP5_READER, "while (Position < buffer.m_Buffer.size())", 1,
        "while (buffer.m_Buffer.size() - Position >= 2 * sizeof(uint64_t))",
    ),
    (
        BP5_READER, "MMI.MetaMetaID = buffer.Data() + Position;", 1,
        "const size_t rest = buffer.m_Buffer.size() - Position;\n"
        "if (MMI.MetaMetaIDLen > rest || MMI.MetaMetaInfoLen > rest - MMI.MetaMetaIDLen)\n"
        "{ Position -= 2 * sizeof(uint64_t); break; }\n"
        "MMI.MetaMetaID = buffer.Data() + Position;",
    ),
    # After a writev that was cut short or interrupted, the piece in which it ended was written a second time.
    (POSIX_FILE, "for (; c < iovcnt; ++c)", 1, "for (++c; c < iovcnt; ++c)"),
    # After a close that failed, the destructor closed the same number again, which may be another file by then.
    (
        POSIX_FILE, "const int status = close(m_FileDescriptor);", 1,
        "const int status = close(m_FileDescriptor);\nm_IsOpen = false;",
    ),
    (
        POSIX_FILE, "void FilePOSIX::Write(const char *buffer, size_t size, size_t start)", 1,
        WRITTEN + "void FilePOSIX::Write(const char *buffer, size_t size, size_t start)",
    ),
    (
        POSIX_FILE, "start = static_cast<size_t>(pos);\n}", 1,
        "start = static_cast<size_t>(pos);\n}\n"
        "if (TailraceWrote && !TailraceTold) TailraceWrote(m_Name.c_str(), buffer, size, start);",
    ),
    (
        POSIX_FILE, "static constexpr size_t WritevMaxBytes = INT32_MAX;", 1,
        "static constexpr size_t WritevMaxBytes = INT32_MAX;\n"
        "const TailraceTelling telling;\n"
        "size_t at = TailraceWrote ? static_cast<size_t>(lseek(m_FileDescriptor, 0, SEEK_CUR)) : 0;\n"
        "for (int i = 0; TailraceWrote && i < iovcnt; at += iov[i++].iov_len)\n"
        "TailraceWrote(m_Name.c_str(), iov[i].iov_base, iov[i].iov_len, at);",
    ),
    *(
        (
            f"source/adios2/engine/{kind.lower()}/{kind}Writer.cpp",
            "{\nif (Verbose)\n{\n"
            f'std::cerr << "{kind} Writer \\"" << m_Name << "\\" Destroyed without a prior Close()."\n'
            '<< std::endl;\nstd::cerr << "This may result in corrupt output." << std::endl;\n}\n'
            f"{before}UpdateActiveFlag(false);\nm_IsOpen = false;",
            1, DESTRUCTOR.format(guard),
        )
        for kind, before, guard in (
            ("BP4", "// at least close metadata index file\n", ""),
            (
                "BP5", "// close metadata index file\nif (m_Comm.Rank() == 0)\n", "if (m_Comm.Rank() == 0) ",
            ),
        )
    ),
    # Each access to a step visited all steps before it, three times: reading a series took the square of its steps.
    (BP4, "auto itStep = std::next(indices.begin(), stepsStart);", 2, NTH.format("stepsStart")),
    (BP4, "auto itStep = std::next(indices.begin(), blockInfo.StepsStart);", 1, NTH.format("blockInfo.StepsStart")),
]  # fmt: skip
# What we do not need takes a minute of the compiler: the server of remote files, and the tools but bpls, which is
# compiled fast.
LEFT_OUT = [
    ("source/adios2/toolkit/remote/CMakeLists.txt", "if (NOT ADIOS2_USE_PIP)", 1, "if (FALSE)"),
    (
        "source/utils/CMakeLists.txt", "# ADIOS_REORGANIZE", 1,
        "set_source_files_properties(./bpls/bpls.cpp PROPERTIES COMPILE_OPTIONS -O0)\nreturn()",
    ),
]  # fmt: skip
# Most of the time of the compiler goes into the headers that 150 sources share, so that it takes several at once. These
# sources cannot be beside others, and one header lacks its guard.
UNITY = """
set_target_properties(adios2_core adios2_core_mpi PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
file(GLOB apart RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} toolkit/remote/*.cpp)
set_source_files_properties(${apart} helper/adiosString.cpp engine/bp5/BP5Reader.cpp
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
"""
UNITY_OF_BINDINGS = """
set_target_properties(adios2_cxx PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
set_source_files_properties(adios2/cxx/Variable.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
"""
UNGUARDED = "source/adios2/operator/OperatorFactory.h"


def main(source: Path) -> str | None:
    """Change the source; returns what is wrong with it."""
    for name, line, count, instead in CHANGES + LEFT_OUT:
        path = source / name
        lines = path.read_text(encoding="utf-8").split("\n")
        bare, wanted = [text.strip() for text in lines], line.split("\n")
        found = [at for at in range(len(lines)) if bare[at : at + len(wanted)] == wanted]
        if len(found) != count:
            return f"{path}: expected {count} lines '{line}', found {len(found)}. To fix this, adapt {__file__}"
        for at in reversed(found):
            lines[at : at + len(wanted)] = [instead]
        path.write_text("\n".join(lines), encoding="utf-8")
    with (source / "source/adios2/CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(UNITY)
    with (source / "bindings/CXX/CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(UNITY_OF_BINDINGS)
    header = source / UNGUARDED
    header.write_text("#pragma once\n" + header.read_text(encoding="utf-8"), encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
