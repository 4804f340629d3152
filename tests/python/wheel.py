"""Tests the wheel that carries the command: installs it in a new environment, and uses both there.

    python wheel.py --built target/debug | --wheel FILE

`--built` packs a wheel from a development build first, with the layout of `cargo xtask wheel`, which builds for a release.
"""

import argparse
import base64
import email.message
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile

from npu import ROOT

PROGRAMS = ["npu", "npu-interactive"]
LIBRARIES = ["lib_npukit.so", "lib_npukit.dylib", "_npukit.dll"]
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
TAG = f"cp310-abi3-{PLATFORM}"
# In a new environment, only its own package and command may be found.
CLEAN = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "NPUKIT_NPU")}


def version():
    """Returns the version of the workspace."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def metadata():
    """Returns the core metadata of the package, from `pyproject.toml`."""
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    fields = email.message.Message()
    fields["Metadata-Version"] = "2.4"
    fields["Name"], fields["Version"] = project["name"], version()
    fields["Summary"], fields["Requires-Python"] = project["description"], project["requires-python"]
    fields["License-Expression"] = project["license"]
    for requirement in project["dependencies"]:
        fields["Requires-Dist"] = requirement
    return fields.as_string()


def pack(built, folder):
    """Packs a wheel from the programs and the native module in `built`; returns its path."""
    info = f"npukit-{version()}.dist-info"
    library = next(built / name for name in LIBRARIES if (built / name).exists())
    suffix = ".pyd" if library.suffix == ".dll" else ".abi3.so"
    files = {path.relative_to(ROOT / "python" / "lib").as_posix(): path.read_bytes()
             for path in sorted((ROOT / "python" / "lib").rglob("*")) if path.is_file() and "__pycache__" not in path.parts}
    files[f"npukit/_npukit{suffix}"] = library.read_bytes()
    exe = ".exe" if os.name == "nt" else ""
    for program in PROGRAMS:
        files[f"npukit-{version()}.data/scripts/{program}{exe}"] = (built / f"{program}{exe}").read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    record = "".join(f"{name},{checksum(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = folder / f"npukit-{version()}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, content)
    return wheel


def checksum(content):
    """Returns the checksum of a file as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def run(*command):
    """Runs a program of the new environment; returns its output."""
    done = subprocess.run([str(word) for word in command], env=CLEAN, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"FAILED {' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(wheel, folder):
    """Installs a wheel in a new environment, and uses its command and its module."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    demo = json.loads(run(programs / "npu", "demo", "--json"))
    assert demo["cycles"] and demo["accuracy"] > 0.9, demo
    assert run(programs / "npu", "--version").split()[-1] == version()
    # `npu` starts this program for editors and terminals, from its own folder.
    assert (programs / f"npu-interactive{'.exe' if os.name == 'nt' else ''}").exists()
    module = "import npukit; print(npukit.__version__, len(npukit.zoo('mlp').inputs))"
    assert run(python, "-c", module).split() == [version(), "1"]
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "npukit")
    assert not (programs / "npu").exists(), "the command remains after the package was uninstalled"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--built", type=pathlib.Path, metavar="FOLDER", help="folder of a build with all programs and the module")
    given.add_argument("--wheel", type=pathlib.Path, metavar="FILE", help="a wheel that `cargo xtask wheel` made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="npukit-wheel-") as scratch:
        folder = pathlib.Path(scratch)
        wheel = arguments.wheel or pack(arguments.built, folder)
        check(wheel, folder / "environment")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; its command and its module work in a new environment")


if __name__ == "__main__":
    sys.exit(main())
