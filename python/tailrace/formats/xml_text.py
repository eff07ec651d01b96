"""Read XML files of other programs, as a whole and without entities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.core import IoError

from .file_bytes import head

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def parse_xml(path: Path, most: int) -> Element:
    """The first element of an XML file of at most `most` bytes.

    :raises IoError: it is larger, no XML, or has entities.
    """
    text = head(path, most + 1)
    if len(text) > most:
        raise IoError(f"{path}: expected at most {most} bytes of XML, found more. To fix this, move it away")
    return xml_of(path, text)


def xml_of(path: Path, text: bytes) -> Element:
    """The first element of a text, which `path` names in errors.

    :raises IoError: it is no XML, or has entities.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root: Element = fromstring(text)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise IoError(
            f"{path}: expected XML without entities, found {error}. To fix this, repair it, or move it away"
        ) from None
    return root
