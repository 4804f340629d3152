#!/bin/sh
# Makes npukit-VERSION.vsix without vsce: a zip of the extension, its content types and its manifest. Needs python3.
set -eu
cd "$(dirname "$0")"
python3 - <<'PYTHON'
import json
import pathlib
import zipfile
from xml.sax.saxutils import quoteattr

package = json.loads(pathlib.Path("package.json").read_text())
name, version = package["name"], package["version"]
manifest = f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={quoteattr(name)} Version={quoteattr(version)} Publisher={quoteattr(package["publisher"])} />
    <DisplayName>{package["displayName"]}</DisplayName>
    <Description xml:space="preserve">{package["description"]}</Description>
    <Categories>{",".join(package["categories"])}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(package["engines"]["vscode"])} />
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code" /></Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />
  </Assets>
</PackageManifest>
"""
types = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="json" ContentType="application/json" />
  <Default Extension="js" ContentType="application/javascript" />
  <Default Extension="md" ContentType="text/markdown" />
  <Default Extension="vsixmanifest" ContentType="text/xml" />
</Types>
"""
left_out = {".vscodeignore", ".gitignore", "package.sh", "package-lock.json"}
files = [path for path in pathlib.Path(".").rglob("*") if path.is_file() and path.suffix != ".vsix"]
with zipfile.ZipFile(f"{name}-{version}.vsix", "w", zipfile.ZIP_DEFLATED) as out:
    out.writestr("extension.vsixmanifest", manifest)
    out.writestr("[Content_Types].xml", types)
    for path in sorted(path for path in files if path.name not in left_out):
        out.write(path, f"extension/{path.as_posix()}")
print(f"{name}-{version}.vsix")
PYTHON
