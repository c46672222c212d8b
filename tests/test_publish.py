"""An encoder on its way to the hub: what is uploaded, what the card says, what is refused."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from huggingface_hub import ModelCard, constants

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from pipeline.publish import main
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

REPO = "somebody/small-encoder"
TEXTS = ["A man plays the guitar.", "Somebody is making music.", "It rains."]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A tiny encoder in the layout and with the record of a training run."""
    folder = tmp_path_factory.mktemp("models") / "vicreg" / "42"
    SentenceEncoder.load(tiny_bert, "cpu").save(folder)
    record = ROOT / "encoders" / "reference" / "vicreg" / "triad.json"
    shutil.copy(record, folder / "triad.json")
    return folder


def metrics(file: Path, version: str, seed: int, score: float) -> Path:
    content = json.loads((ROOT / "metrics" / "vicreg" / "42.json").read_text(encoding="utf-8"))
    content |= {"version": version, "seed": seed, "encoder": f"vicreg-{seed}"}
    content["sts"]["stsb_captions"]["spearman"] = score
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def measured(trained: Path) -> list[str]:
    """Metrics of this encoder and of another seed."""
    place = trained.parent
    own = metrics(place / "42.json", folder_version(trained), 42, 60.0)
    other = metrics(place / "43.json", "another", 43, 64.0)
    return [str(own), str(other)]


@pytest.fixture(scope="module")
def published(trained: Path, measured: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a dry run writes."""
    place = tmp_path_factory.mktemp("dry") / "published"
    options = ["--license", "apache-2.0", "--base-model", "somebody/backbone", "--onnx"]
    options += ["--dataset", "somebody/sentences", "--metrics", *measured]
    assert main([str(trained), REPO, *options, "--dry-run", str(place)]) == 0
    return place


def test_the_card_says_what_the_hub_shows_and_the_scores_over_seeds(published: Path) -> None:
    card = ModelCard.load(published / "README.md")
    text, data = str(card), card.data
    assert (data.license, data.language) == ("apache-2.0", "en")
    assert (data.base_model, data.datasets) == ("somebody/backbone", ["somebody/sentences"])
    assert data.library_name == "sentence-transformers"
    (result,) = data.eval_results or []
    assert (result.dataset_name, result.metric_type) == ("stsb_captions", "spearman_cosine")
    assert result.metric_value == 0.6
    assert "| stsb_captions | 60.00 | 62.00 | 2.83 | 2 |" in text
    assert "It is one of 2 seeds that were measured." in text
    assert "the files of stsb_captions are not the benchmark's" in text


@pytest.mark.verify
def test_the_cards_example_runs_on_what_was_uploaded(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (published / "README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    assert f'SentenceTransformer("{REPO}")' in code
    exec(code.replace(REPO, str(published)), {})
    assert "tensor(" in capsys.readouterr().out


def test_the_uploaded_folder_keeps_the_embeddings_and_the_measured_one_its_version(
    trained: Path, measured: list[str], published: Path
) -> None:
    text = (published / "config_sentence_transformers.json").read_text(encoding="utf-8")
    assert json.loads(text)["similarity_fn_name"] == "cosine"
    first, second = (SentenceEncoder.load(one, "cpu").encode(TEXTS) for one in (trained, published))
    assert np.array_equal(first, second)
    own = json.loads(Path(measured[0]).read_text(encoding="utf-8"))
    assert folder_version(trained) == own["version"]


def test_the_graph_gives_the_token_states_that_are_pooled(published: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    encoder = SentenceEncoder.load(published, "cpu")
    batch = encoder.tokenizer(TEXTS, padding=True, return_tensors="np")
    session = ort.InferenceSession(published / "onnx" / "model.onnx")
    given = {one.name: batch[one.name] for one in session.get_inputs()}
    (states,) = session.run(["last_hidden_state"], given)
    assert np.allclose(states[:, 0], encoder.encode(TEXTS), atol=1e-5)


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as an upload asks for; it keeps what it is sent."""

    server: Stand

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sent = self.headers.get("Authorization")
        self.server.asked.append(self.path)
        if sent != "Bearer hf_right":
            self.answer(401, {"error": "Invalid user token"})
        elif self.path == "/api/repos/create":
            self.answer(200, {"url": f"{constants.ENDPOINT}/{REPO}", "id": REPO})
        elif self.path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            paths = [one["path"] for one in json.loads(body)["files"]]
            modes = [
                {"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in paths
            ]
            self.answer(200, {"files": modes})
        else:
            for line in body.splitlines():
                match json.loads(line):
                    case {"key": "file", "value": {"path": path, "content": content}}:
                        self.server.files[path] = base64.b64decode(content)
            url = f"{constants.ENDPOINT}/{REPO}/commit/{'0' * 40}"
            self.answer(200, {"commitUrl": url, "commitOid": "0" * 40, "success": True})

    def answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


class Stand(HTTPServer):
    """The stand-in hub."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Hub)
        self.asked: list[str] = []
        self.files: dict[str, bytes] = {}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    with Stand() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("HF_TOKEN", "hf_right")
        yield server
        server.shutdown()
        thread.join()


def test_all_files_arrive_and_the_card_is_checked_before(
    hub: Stand, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(trained), REPO, "--license", "apache-2.0"]) == 0
    here = {str(path.relative_to(trained)) for path in trained.rglob("*") if path.is_file()}
    assert set(hub.files) == here | {"README.md", "config_sentence_transformers.json"}
    assert hub.files["model.safetensors"] == (trained / "model.safetensors").read_bytes()
    assert "/api/validate-yaml" in hub.asked
    assert f"{REPO}: uploaded as {constants.ENDPOINT}" in capsys.readouterr().out


def test_without_rights_the_hubs_reason_is_told(
    hub: Stand, trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert main([str(trained), REPO, "--license", "apache-2.0"]) == 1
    assert "the hub refuses (Invalid user token)" in capsys.readouterr().err
    assert not hub.files


def test_without_a_connection_it_is_one_sentence(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # where nobody listens
    assert main([str(trained), REPO, "--license", "apache-2.0"]) == 1
    assert f"publish: {REPO}: the hub does not answer (ConnectError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("repo", "more", "sentence"),
    [
        ("nobody", [], "REPO: 'nobody' names no owner; give owner/name."),
        ("a/b/c", [], "REPO: 'a/b/c' is no id on the hub; give owner/name."),
        (REPO, ["--metrics", "{other}"], "was measured on {folder} (version "),
        (REPO, ["--metrics", "{own}", "{own}"], "which is no other seed of vicreg-42"),
        (REPO, ["--metrics", "{folder}/config.json"], "holds no metrics"),
        (REPO, ["--dry-run", "{folder}/.."], "is not empty; name a new folder."),
        (REPO, ["--dry-run", "{folder}/new"], "--dry-run: {folder}/new lies in the encoder's"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(
    repo: str,
    more: list[str],
    sentence: str,
    hub: Stand,
    trained: Path,
    measured: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"own": measured[0], "other": measured[1], "folder": str(trained)}
    options = [one.format(**names) for one in more]
    assert main([str(trained), repo, "--license", "mit", *options]) == 1
    assert sentence.format(**names) in capsys.readouterr().err
    assert not hub.asked


def test_an_encoder_that_triad_did_not_train_is_refused(
    tiny_bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tiny_bert), REPO, "--license", "mit"]) == 1
    assert "is no encoder that Triad trained" in capsys.readouterr().err
