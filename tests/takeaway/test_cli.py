"""The command line: exit codes, languages, JSON equal to the contract's bytes, files of tools, tables."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ajuste import RequestError, cli, cli_input, estimate_json, load_catalog, read_config
from ajuste.cli_text import width
from ajuste.doors import call_json

QLORA = ["--model", "llama-3.1-8b", "--method", "qlora"]


@pytest.fixture(scope="module")
def catalog_file(catalog_text: str, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("cli") / "catalog.json"
    path.write_text(catalog_text, encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def english(monkeypatch):
    for name in ("AJUSTE_LANG", "LC_ALL", "LC_MESSAGES", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_US.UTF-8")


@pytest.fixture
def run(catalog_file: str, capsys):
    """Run a command as the shell would: (exit code, standard output, standard error)."""

    def ran(command: str, *words: str, catalog: bool = True) -> tuple[int, str, str]:
        try:
            code = cli.main([command, *words, *(["--catalog", catalog_file] if catalog else [])])
        except SystemExit as stopped:  # argparse
            code = int(stopped.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return ran


def test_exit_codes_tell_whether_it_fits(run, catalog_text: str):
    assert run("estimate", *QLORA, "--gpu", "rtx-4090-24gb")[0] == 0
    alone = ["--set", "parallel.gpus_per_node=1"]
    assert run("estimate", *QLORA, *alone, "--gpu", "rtx-3070-8gb", "--set", "micro_batch=1")[0] == 3
    assert run("estimate", "--model", "llama-3.1-70b", "--method", "full", *alone, "--gpu", "rtx-4090-24gb")[0] == 4
    assert run("estimate", "--model", "no-such", "--method", "qlora")[0] == 2
    assert run("estimate", "--model", "llama-3.1-8b", "--method", "qlora", "--set", "micro_batch=-1")[0] == 2
    assert run("estimate", "--frobnicate")[0] == 2


def test_json_is_the_contracts_bytes(run, catalog_text: str):
    code, out, _ = run("estimate", *QLORA, "--json")
    request = {"model": "llama-3.1-8b", "method": "qlora"}
    assert out == estimate_json(json.dumps(request), load_catalog(catalog_text)) + "\n"
    assert code == 0
    code, out, _ = run("estimate", "--model", "no-such", "--method", "qlora", "--json")
    assert json.loads(out)["error"]["code"] == "unknown-model"
    assert code == 2


def test_a_request_alone_is_answered(catalog_file: str, capsys, monkeypatch):
    assert cli.main(['{"model": "llama-3.1-8b", "method": "lora"}', "--catalog", catalog_file]) == 0
    asked = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"model": "llama-3.1-8b", "method": "lora"}'))
    assert cli.main(["-", "--catalog", catalog_file]) == 0
    assert json.loads(capsys.readouterr().out) == asked


def test_both_languages(run):
    _, english, _ = run("estimate", *QLORA, "--lang", "en")
    _, spanish, _ = run("estimate", *QLORA, "--lang", "es")
    assert "peak in backward" in english
    assert "pico en vuelta (backward)" in spanish
    assert "fits" in english
    assert "cabe" in spanish
    _, _, complaint = run("estimate", "--model", "lama-3.1-8b", "--method", "qlora", "--lang=es")
    assert "no está en el catálogo" in complaint
    assert "llama-3.1-8b" in complaint


def test_the_language_comes_from_the_locale(run, monkeypatch):
    monkeypatch.setenv("LANG", "es_MX.UTF-8")
    assert "pico en" in run("estimate", *QLORA)[1]
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert "peak in" in run("estimate", *QLORA)[1]


def test_colours_only_where_a_person_looks(run, monkeypatch):
    assert "\033[" not in run("estimate", *QLORA)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033[32m" in run("estimate", *QLORA)[1]


def test_columns_stand_under_each_other(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = run("gpus", "4090")
    head, row = out.splitlines()
    assert width(head) == width(row), "numbers end under their column's name"


def test_files_of_tools(run, tmp_path: Path):
    axolotl = tmp_path / "a.yaml"
    axolotl.write_text("base_model: Qwen/Qwen3-8B\nadapter: lora\nsequence_len: 4096\nlora_r: 64\nwandb_project: x\n")
    code, out, _ = run("estimate", str(axolotl))
    assert code == 0
    assert "qwen3-8b · lora · axolotl · 4096 tokens" in out
    assert "wandb_project" in out
    assert "says where things are kept" in out
    launcher = tmp_path / "ds.json"
    launcher.write_text('{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2}')
    code, out, _ = run(
        "estimate", str(axolotl), "--config", str(launcher), "--json", "--set", "parallel.gpus_per_node=4"
    )
    plan = json.loads(out)["plan"]
    assert (plan["parallel"]["strategy"], plan["micro_batch"], plan["lora"]["rank"]) == ("zero3", 2, 64)
    model = tmp_path / "config.json"
    model.write_text(
        '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,'
        ' "num_attention_heads": 4, "vocab_size": 256}'
    )
    code, out, _ = run("estimate", str(model), "--method", "full", "--json")
    assert json.loads(out)["model"]["parameters"] > 0


def test_an_address_is_read(run, tmp_path: Path, monkeypatch):
    asked = []

    @contextlib.contextmanager
    def opened(address: str, timeout: float):
        asked.append(address)
        yield io.BytesIO(b"base_model: Qwen/Qwen3-8B\nadapter: qlora\nload_in_4bit: true\n")

    monkeypatch.setattr("urllib.request.urlopen", opened)
    code, out, _ = run("estimate", "--config", "https://a.example/train.yaml")
    assert (code, asked) == (0, ["https://a.example/train.yaml"])
    assert "qlora · axolotl" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "cannot be read"),
        ("a: [", "cannot be read"),
        ("foo: 1", "cannot tell whose file it is"),
        (None, "neither a file that exists nor a model of the catalog"),
    ],
)
def test_files_that_are_none(run, tmp_path: Path, text: str | None, said: str):
    path = tmp_path / "x.yaml"
    if text is not None:
        path.write_text(text)
    code, _, complaint = run("estimate", str(path))
    assert code == 2
    assert said in complaint


@pytest.mark.parametrize("name", ["llama-3.1-8b", "Llama-3.1-8B", "meta-llama/Llama-3.1-8B", "LLAMA-3.1-8B-Instruct"])
def test_a_model_may_stand_alone(run, name: str):
    assert run("estimate", name, "--method", "qlora") == run("estimate", *QLORA)
    assert run("fit", "RTX 4090", name) == run("fit", "rtx-4090-24gb", *QLORA)


def test_a_word_that_is_nothing_is_told_with_its_neighbour(run):
    code, _, complaint = run("estimate", "lama-3.1-8b", "--method", "qlora")
    assert code == 2
    assert complaint.startswith("lama-3.1-8b: neither a file that exists nor a model of the catalog. Accepted: ")
    assert "Perhaps: llama-3.1-8b" in complaint
    _, _, complaint = run("estimate", "lama-3.1-8b", "--method", "qlora", "--lang", "es")
    assert "ni un modelo del catálogo" in complaint
    assert "Quizá: llama-3.1-8b" in complaint


@pytest.mark.parametrize("name", ["RTX 4090", "rtx-4090", "4090", "NVIDIA GeForce RTX 4090"])
def test_a_card_by_its_name(run, name: str):
    assert run("estimate", *QLORA, "--gpu", name) == run("estimate", *QLORA, "--gpu", "rtx-4090-24gb")


def test_a_name_of_several_cards_is_refused_with_them(run):
    code, _, complaint = run("estimate", *QLORA, "--gpu", "A100")
    assert code == 2
    assert "there are several" in complaint
    assert "a100-pcie-40gb, a100-pcie-80gb, a100-sxm-40gb, a100-sxm-80gb" in complaint


def test_fit_rank_and_invert(run):
    code, out, _ = run("fit", "rtx-4090-24gb")
    assert code == 0
    assert "llama-3.1-8b" in out
    code, out, _ = run("rank", *QLORA, "--limit", "3")
    assert code == 0
    assert len(out.splitlines()) == 4
    code, out, _ = run("invert", "--budget", "20", "--deadline", "24")
    assert code == 0
    assert len(out.splitlines()) > 5
    code, out, _ = run("invert", "--budget", "0.0001", "--deadline", "0.01")
    assert code == 4


def test_explain(run):
    code, out, _ = run("explain", "logits", "--lang", "es", catalog=False)
    assert code == 0
    assert "logits y pérdida" in out
    assert "V T" in out
    code, out, _ = run("explain", "nf4-block", "--json", catalog=False)
    constant = json.loads(out)["constants"]["nf4-block"]
    assert constant["mid"] == 64
    assert constant["source"]
    code, _, complaint = run("explain", "optimiser_states", catalog=False)
    assert code == 2
    assert "optimizer_states" in complaint


def test_listings(run, catalog_data: dict):
    _, out, _ = run("models", "--json")
    assert len(json.loads(out)) == len(catalog_data["models"])
    _, out, _ = run("prices", "h200", "--json")
    assert {"provider", "usd_per_hour", "checked", "source_url"} <= set(json.loads(out)[0])
    code, out, _ = run("gpus", "no such gpu")
    assert (code, len(out.splitlines())) == (0, 1)


def test_export_writes_files_that_read_back(run, tmp_path: Path):
    code, said, _ = run("export", "axolotl", *QLORA, "--set", "lora.rank=48", "-o", str(tmp_path))
    assert code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"train.yaml", "run.sh"}
    assert str(tmp_path / "train.yaml") in said
    _, out, _ = run("estimate", str(tmp_path / "train.yaml"), "--json")
    plan = json.loads(out)["plan"]
    assert (plan["framework"], plan["lora"]["rank"], plan["method"]) == ("axolotl", 48, "qlora")
    assert run("export", "slurm", *QLORA)[0] == 2


def test_a_reader_who_stops_early_is_no_fault(root: Path, catalog_file: str):
    command = f"{sys.executable} -m ajuste prices --catalog {catalog_file} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        env={**os.environ, "PYTHONPATH": str(root / "calculator")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_without_a_catalog_it_says_what_to_do(run, monkeypatch):
    monkeypatch.setattr(cli_input, "packed_path", lambda _: None)
    code, _, complaint = run("models", catalog=False)
    assert code == 2
    assert "--catalog" in complaint


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["invert", "--model", "llama-3.1-8b"], "falta: --budget"),
        (["invert", "--budget", "mucho"], "--budget: 'mucho' no es un número"),
        (["models", "--color"], "sobra: --color"),
        (["estimat"], "'estimat' no vale; una de: "),
        (["estimate", "--model"], "--model: falta su valor"),
    ],
)
def test_what_is_typed_wrong_is_told_in_the_language(words: list[str], says: str, capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "es_ES.UTF-8")
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    assert left.value.code == cli.BAD_REQUEST
    assert says in capsys.readouterr().err


def test_alone_it_shows_its_help(capsys, monkeypatch):
    monkeypatch.setenv("LC_ALL", "es_ES.UTF-8")
    assert cli.main([]) == cli.BAD_REQUEST
    told = capsys.readouterr().err
    assert all(command in told for command in cli.COMMANDS)


def test_an_address_without_a_network_is_told(run, monkeypatch):
    from urllib import error, request

    def fails(*_words, **_options):
        raise error.URLError("Name or service not known")

    monkeypatch.setattr(request, "urlopen", fails)
    code, _, err = run("estimate", "https://example.org/train.yaml", "--lang", "es")
    assert code == cli.BAD_REQUEST
    assert "no hay red, o no existe esa dirección" in err


def test_what_nobody_knows_comes_last(run):
    _, out, _ = run("models")
    unknown = [line.endswith("?") for line in out.splitlines()[1:]]
    assert any(unknown)
    assert unknown == sorted(unknown)


def test_a_fault_of_ours_is_one_sentence(run, monkeypatch):
    """What nobody foresaw ends in a line that says where and what to do, not in a traceback."""
    monkeypatch.setattr(cli, "estimate", lambda *_: 1 // 0)
    code, out, err = run("estimate", *QLORA)
    assert (code, out) == (cli.FAULT, "")
    assert err.count("\n") == 1
    assert "ZeroDivisionError, test_cli.py:" in err
    assert "send us this request" in err


LORA_FILE = "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: lora\nstage: sft\ncutoff_len: 1024\nbf16: true\n"
ZERO_FILE = '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}'


@pytest.fixture
def written(tmp_path: Path):
    """Write a file and return its path."""

    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["lf.yaml", "ds.json"], {"method": "lora", "base_dtype": "bf16", "sequence_length": 1024}),
        (["ds.json", "lf.yaml"], {"method": "lora", "base_dtype": "bf16", "sequence_length": 1024}),
        (["ds.json", "--model", "qwen3-8b", "--method", "qlora"], {"base_dtype": "bf16", "precision": None}),
        (["ds.json", "--model", "qwen3-8b", "--set", "method=lora"], {"base_dtype": "bf16", "precision": None}),
        (["ds.json", "--model", "qwen3-8b", "--method", "full"], {"precision": "bf16-master"}),
        (["half.json", "--model", "qwen3-8b", "--method", "lora"], {"base_dtype": "fp16", "precision": None}),
    ],
    ids=str,
)
def test_bf16_of_a_deepspeed_file_is_the_bases_or_the_trainings(run, written, words: list[str], asked: dict):
    """LoRA with a DeepSpeed file is the commonest pair there is: `precision` is full fine-tuning's alone."""
    half = ZERO_FILE.replace("bf16", "fp16")
    files = {"lf.yaml": LORA_FILE, "ds.json": ZERO_FILE, "half.json": half}
    paths = [written(word, files[word]) if word in files else word for word in words]
    code, out, err = run("estimate", "--json", *paths)
    assert code != 2, err + out
    plan = json.loads(out)["plan"]
    assert plan["parallel"]["strategy"] == "zero2"
    assert {name: plan[name] for name in asked} == asked


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("base_model: x\na: &a\n  b: *a\n", "in itself"),
        ("base_model: x\na: " + "[" * 20_000 + "]" * 20_000, "too deep"),
        ("base_model: x\na:\n" + "".join(" " * i + "k:\n" for i in range(1, 800)), "too deep"),
        ('{"base_model": ' + "[" * 200_000 + "]" * 200_000 + "}", "too deep"),
        (
            "base_model: x\na0: &a0 {x: 1}\n"
            + "".join(f"a{i}: &a{i} {{{', '.join(f'k{j}: *a{i - 1}' for j in range(10))}}}\n" for i in range(1, 15)),
            "5000 keys",
        ),
        ("base_model: x\nday: 2026-13-45\n", "cannot be read"),
    ],
    ids=["cycle", "lists", "maps", "JSON", "aliases of aliases", "no such day"],
)
def test_a_file_too_deep_is_refused_at_once(run, written, text: str, says: str):
    code, _, err = run("estimate", written("a.yaml", text))
    assert code == 2
    assert says in err
    assert "Traceback" not in err


def test_a_value_that_is_not_understood_is_said_aloud(run, written):
    text = "base_model: Qwen/Qwen3-8B\nadapter: lora\nmicro_batch_size: two\nsequence_len: 4k\nwandb_project: mine\n"
    path = written("axolotl.yaml", text)
    assert "“micro_batch_size: two” was not understood" in run("estimate", path)[2]
    code, out, err = run("estimate", "--json", path)
    assert code != 2
    assert "“sequence_len: 4k” was not understood" in err
    ignored = json.loads(out)["files"][0]["ignored"]
    assert {row["key"]: row.get("unread", False) for row in ignored} == {
        "micro_batch_size": True,
        "sequence_len": True,
        "wandb_project": False,
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LORA_FILE.replace("sft", "ppo"), '“stage” does not take "ppo"'),
        (LORA_FILE.replace("lora", "oft"), '“finetuning_type” does not take "oft"'),
        ("base_model: Qwen/Qwen3-8B\nadapter: lora\nrl: ppo\n", '“rl” does not take "ppo"'),
    ],
)
def test_a_job_that_is_not_counted_is_refused(run, written, text: str, says: str):
    """No default task or method answers for another one."""
    code, _, err = run("estimate", written("a.yaml", text))
    assert code == 2
    assert says in err


def test_a_catalog_without_models_is_no_verdict(run, written):
    code, out, err = run("estimate", *QLORA, "--catalog", written("empty.json", "{}"), catalog=False)
    assert (code, out) == (2, "")
    assert "has no models" in err


def test_the_module_runs_and_a_narrow_terminal_is_no_traceback(catalog_file: str):
    """`python -m ajuste.cli` is what people try first; some terminals are ASCII."""
    command = [sys.executable, "-m", "ajuste.cli", "estimate", *QLORA, "--lang", "es", "--catalog", catalog_file]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(cli.__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "pico en vuelta (backward)" in done.stdout


def test_a_table_inside_itself_is_a_structured_error(catalog_text: str):
    """From Python, where nothing parses the file; and the page's door, told what is launched."""
    cyclic: dict = {"base_model": "x"}
    cyclic["a"] = cyclic
    with pytest.raises(RequestError, match="out-of-range"):
        read_config(cyclic, "axolotl")
    asked = {"config": json.loads(ZERO_FILE), "tool": None, "method": "lora"}
    read = json.loads(call_json("config", json.dumps(asked), load_catalog(catalog_text)))
    assert read["partial"]
    assert read["request"]["base_dtype"] == "bf16"
    assert not {"precision", "method"} & set(read["request"])
