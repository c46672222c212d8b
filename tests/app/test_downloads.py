"""Files to download: whole, and not for long."""

from __future__ import annotations

import os
import time

from app.downloads import save


def test_a_file_holds_what_was_given_as_spreadsheets_read_it() -> None:
    text = "first,second\r\nçà,雪\r\n"
    assert save(text).read_bytes() == b"\xef\xbb\xbf" + text.encode()


def test_a_file_of_an_earlier_minute_is_deleted_and_a_new_one_is_not() -> None:
    old, new = save("old"), save("new")
    earlier = time.time() - 120
    os.utime(old, (earlier, earlier))
    last = save("last")
    assert not old.exists()
    assert new.exists()
    assert last.exists()
