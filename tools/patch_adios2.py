"""Change ADIOS2's source before tools/build_adios2.sh builds it: python3 patch_adios2.py FOLDER.

Each change replaces a line that must be there as often as it says: another version of ADIOS2 stops here, and is looked
at. The function `tailrace_adios2_patched` tells our library at run time that it uses an ADIOS2 with these changes.
"""

import sys
from pathlib import Path

EVPATH = "thirdparty/EVPath/EVPath/"
BP5_READER = "source/adios2/engine/bp5/BP5Reader.cpp"

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
    (
        EVPATH + "cmsockets.c", "socket_conn_data = create_socket_conn_data(svc);", 1,
        "{ struct timeval limit = {0, 100000}, none = {0, 0}; char first[4];"
        " setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));"
        " if (recv(sock, first, 4, MSG_PEEK | MSG_WAITALL) != 4) { close(sock); return; }"
        " setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)); }\n"
        "socket_conn_data = create_socket_conn_data(svc);",
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
]  # fmt: skip
# Most of the time of the compiler goes into the headers that 141 sources share, so that it takes several at once. These
# sources cannot be beside others, and one header lacks its guard.
UNITY = """
set_target_properties(adios2_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
file(GLOB apart RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} toolkit/remote/*.cpp)
set_source_files_properties(${apart} helper/adiosString.cpp engine/bp5/BP5Reader.cpp
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
"""
UNGUARDED = "source/adios2/operator/OperatorFactory.h"
MARK = "\nextern int tailrace_adios2_patched(void);\nint tailrace_adios2_patched(void) { return 1; }\n"


def main(source: Path) -> str | None:
    """Change the source; returns what is wrong with it."""
    for name, line, count, instead in CHANGES:
        path = source / name
        lines = path.read_text(encoding="utf-8").split("\n")
        found = [number for number, text in enumerate(lines) if text.strip() == line]
        if len(found) != count:
            return f"{path}: expected {count} lines '{line}', found {len(found)}. To fix this, adapt {__file__}"
        for number in found:
            lines[number] = instead
        path.write_text("\n".join(lines), encoding="utf-8")
    with (source / EVPATH / "cm.c").open("a", encoding="utf-8") as file:
        file.write(MARK)
    with (source / "source/adios2/CMakeLists.txt").open("a", encoding="utf-8") as file:
        file.write(UNITY)
    header = source / UNGUARDED
    header.write_text("#pragma once\n" + header.read_text(encoding="utf-8"), encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
