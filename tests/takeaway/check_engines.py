"""Run by the environment that has SkyPilot and dstack: parses launch files with them, prints what each one says.

python check_engines.py FOLDER      every *.sky.yaml and *.dstack.yml in it
"""

import contextlib
import json
import sys
from pathlib import Path

import yaml


def skypilot(config: dict) -> dict:
    """SkyPilot's own reading of a task."""
    import sky

    task = sky.Task.from_yaml_config(config, secrets_overrides=[("HF_TOKEN", "said at the launch")])
    (resources,) = task.resources
    return {
        "accelerators": resources.accelerators,
        "cloud": str(resources.cloud),
        "max_hourly_cost": resources.max_hourly_cost,
        "use_spot": resources.use_spot,
        "recovery": resources.job_recovery,
        "autostop": str(resources.autostop_config),
        "disk": resources.disk_size,
        "mounts": sorted(task.storage_mounts),
    }


def dstack(config: dict) -> dict:
    """dstack's own reading of a configuration."""
    from dstack._internal.core.models.configurations import parse_apply_configuration
    from gpuhunt._internal.constraints import KNOWN_AMD_GPUS, KNOWN_NVIDIA_GPUS

    task = parse_apply_configuration(config)
    if task.type == "volume":
        return {"type": "volume", "name": task.name, "backend": task.backend, "region": task.region}
    known = {gpu.name for gpu in (*KNOWN_NVIDIA_GPUS, *KNOWN_AMD_GPUS)}
    return {
        "gpu": task.resources.gpu.name,
        "known": all(name in known for name in task.resources.gpu.name),
        "backends": [backend.value for backend in task.backends or []],
        "files": [file.local_path for file in task.files],
        "spot_policy": task.spot_policy.value,
        "max_price": task.max_price,
        "max_duration": task.max_duration,
        "idle_duration": task.idle_duration,
        "volumes": [volume.path for volume in task.volumes],
    }


def main() -> None:
    """Read each file; an engine's refusal is reported as its text."""
    said = {}
    for path in sorted(Path(sys.argv[1]).iterdir()):
        read = skypilot if path.name.endswith(".sky.yaml") else dstack
        try:
            with contextlib.redirect_stdout(sys.stderr):
                said[path.name] = read(yaml.safe_load(path.read_text(encoding="utf-8")))
        except Exception as error:
            said[path.name] = {"refused": str(error)}
    print(json.dumps(said, default=str))


if __name__ == "__main__":
    main()
