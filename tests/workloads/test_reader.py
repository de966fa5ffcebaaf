"""Bad traces: one clear line each, with the row and column, and never a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from documents import label
from traces import SCHEMA, imported, reasons, rows

from rarmodel.errors import InputError

GOOD = "0,0,1,0,60,,,,"


def refused(path: Path, content: str | bytes) -> list[str]:
    """Lines of the refusal, without the file's name."""
    with pytest.raises(InputError) as caught:
        imported(path, content)
    lines = caught.value.lines()
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in lines)
    return [line.removeprefix(f"{path}: ") for line in lines]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty; a trace with a line for each job is expected"),
        (b"\n  \n", "empty; a trace with a line for each job is expected"),
        (b",,\n,,\n", "nothing but delimiters; a trace with a line for each job is expected"),
        (SCHEMA.encode(), "no rows below the names of columns; jobs are expected"),
        (
            rows("0,0,1,0", header="job_id,source_id,num_gpus,submit_s").encode(),
            ("line 1: column 'duration_s' is missing; format rarmodel has duration_s, job_id, "
            "num_gpus, submit_s"),
        ),
        (b"a,b\n1,2\n", ("line 1: columns 'a', 'b': none of the formats rarmodel, philly, "
         "philly-json, muri, tiresias, helios, acme, alibaba-spot, pai, openb, gavel, swf, sacct, "
         "sacct-json, supercloud, scores; name the columns, such as "
         "--column gpus=NUM_GPUS --column duration=SECONDS")),
        (b"JobID|State\n1|x\n", "line 1: columns 'AllocTRES' or 'AllocGRES' or 'ReqTRES', and"),
        (rows(GOOD, header=f"{SCHEMA},group").encode(), "line 1: column 'group' is there 2 times"),
        (rows(GOOD, "1,1,1,0").encode(), "line 3: 4 cells; 9 are expected, as the format has"),
        (rows("0,0,1,0,-60,,,,").encode(), ("line 2, column 'duration_s': -60; it must not be "
         "negative")),
        (rows("0,0,-1,0,60,,,,").encode(), "line 2, column 'num_gpus': -1; it must not be"),
        (rows("0,0,x,0,60,,,,").encode(), "line 2, column 'num_gpus': 'x'; a number is expected"),
        (rows("0,0,1,0,inf,,,,").encode(), "line 2, column 'duration_s': inf; a finite number"),
        (rows("0,0,1,0,1e300,,,,").encode(), "line 2, column 'duration_s': '1e300'; at most"),
        (rows("0,0,1,0,60,1.5,,,").encode(), "line 2, column 'iterations': 1.5; a whole number"),
        (rows("0,0,1,0,1:2:3:4,,,,").encode(), "line 2, column 'duration_s': '1:2:3:4'; seconds"),
        (rows("0,0,1,soon,60,,,,").encode(), "line 2, column 'submit_s': 'soon'; a date such as"),
        (rows("0,0,1,1e99,60,,,,").encode(), "line 2, column 'submit_s': 1e+99; a point in time"),
        (rows(GOOD, "1,1,1,2017-10-09,60,,,,").encode(), ("line 3: the time of submission is not a "
         "number, as in earlier rows")),
        (rows("0,0,1,2017-10-09,60,,,,", GOOD).encode(), ("line 3: the time of submission is not a "
         "date, as in earlier rows")),
        (rows(GOOD).encode() + "1,é,1,0,60,,,,".encode("latin-1"), ("line 3: byte 0xe9 is not "
         "UTF-8; the whole file in UTF-8 is expected")),
        (rows(GOOD).encode("utf-16"), "UTF-16 text; UTF-8 is expected"),
        (rows(GOOD).encode("utf-16-le"), "line 1: a byte 0: no text, or text in UTF-16; UTF-8, pl"),
        (b"\x7fELF\x02\x01\x01\0\0\xd0", "line 1: a byte 0: no text, or text in UTF-16"),
        (rows(GOOD).encode() + b"\0\0", "line 3: a byte 0: no text, or text in UTF-16"),
        (rows(f"0,0,1,0,{'9' * 5000},,,,").encode(), "line 2, column 'duration_s': inf; a finite"),
        (rows(f"0,0,1,0,-{'9' * 300},,,,").encode(), "line 2, column 'duration_s': -1e+300; it"),
        (rows('0,0,1,0,60,,"open,,').encode(), "not a table: line 2: unexpected end of data"),
        (gzip.compress(rows(*[GOOD] * 9999).encode(), mtime=0)[:-20], ("the gzip file is cut short "
         "after line ")),
        (b"\x1f\x8bnonsense", "a damaged gzip file ("),
        (gzip.compress(b"", mtime=0), "empty; a trace with a line for each job is expected"),
        (rows("0,0,0,0,60,,,,").encode(), "no job is left of 1 row: 1 row: no GPU (line 2)"),
    ],
    ids=label,
)  # fmt: skip
def test_bad_trace_is_refused_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (line,) = refused(tmp_path / "trace.csv", content)
    assert line.startswith(message)


def test_all_bad_rows_are_told_at_once(tmp_path: Path) -> None:
    bad = ["0,0,1,0,-1,,,,"] * 25
    lines = refused(tmp_path / "t.csv", rows(GOOD, *bad))
    assert len(lines) == 21
    assert lines[0].startswith("line 3, column 'duration_s'")
    assert lines[-1] == "and 5 more such rows; --skip-invalid leaves them out"


def test_all_missing_columns_are_told_at_once(tmp_path: Path) -> None:
    lines = refused(tmp_path / "t.csv", "num_gpus,submit_s\n1,0\n")
    assert [line.split(";")[0] for line in lines] == [
        "line 1: column 'duration_s' is missing",
        "line 1: column 'job_id' is missing",
    ]


def test_invalid_rows_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    text = rows(GOOD, "1,1,1,0,-1,,,,", "2,2,1,0,x,,,,", "3,3,1")
    found = imported(tmp_path / "t.csv", text, skip_invalid=True)
    assert (found.account.rows, found.account.used) == (4, 1)
    assert reasons(found.account.left_out) == {
        "an invalid cell in column 'duration_s'": 2,
        "an invalid row": 1,
    }
    assert found.account.left_out[0].examples == (3, 4)


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.csv: cannot be read: no such file"):
        imported(tmp_path / "none.csv")


@pytest.mark.parametrize("change", [gzip.compress, lambda raw: b"\xef\xbb\xbf" + raw,
                                    lambda raw: raw.replace(b"\n", b"\r\n"),
                                    lambda raw: raw.replace(b",", b";"),
                                    lambda raw: raw.replace(b",", b"\t"),
                                    lambda raw: raw + b"\n\n",
                                    lambda raw: b"\n\r\n" + raw.replace(b",", b"\t")])  # fmt: skip
def test_gzip_marks_line_ends_delimiters_and_blank_lines_do_not_matter(
    tmp_path: Path, change: object
) -> None:
    assert callable(change)
    raw = rows("a,0,2,0,600,,vgg16,16,g").encode()
    plain = imported(tmp_path / "t.csv", raw)
    assert imported(tmp_path / "t.csv", change(raw)) == plain
