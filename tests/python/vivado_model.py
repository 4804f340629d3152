"""A small model of Vivado: `Design` interprets a script and builds its block design.

The commands are those of the scripts, with the checks that `vivado_scripts.py` describes. Blocks have the parameters, pins,
interfaces and address segments of the vendor's documents (PG021, PG164, PG065, PG247, PG174, UG586, PG082, PG201). Violations
are raised as `Problem`, also where Vivado would only warn.
"""

import fnmatch
import pathlib
import re
import tkinter
import xml.etree.ElementTree

GIB, MIB = 1 << 30, 1 << 20


class Problem(Exception):
    """A script does what Vivado would refuse, or leaves something out."""


class Interface:
    """A bus of a cell or an external one. `bits` is None if its width follows from the other end."""

    def __init__(self, mode, protocol, bits=None, clock=None):
        self.mode, self.protocol, self.bits, self.clock = mode, protocol, bits, clock


class Pin:
    """A wire of a cell: `kind` is clock, high or low for the active level of a reset, reset for any level, or data."""

    def __init__(self, direction, kind, clock=None, optional=False):
        self.direction, self.kind, self.clock, self.optional = direction, kind, clock, optional


class Cell:
    """A cell with its parameters. Pins and interfaces follow from the parameters."""

    def __init__(self, block, config):
        self.block, self.config = block, config
        self.pins, self.interfaces, self.spaces, self.segments = {}, {}, {}, {}

    def flag(self, name):
        return str(self.config[name]).lower() in ("1", "true")

    def number(self, name):
        return int(self.config[name])


def zynq_7000(cell):
    for name, used, bits in [("M_AXI_GP0", "PCW_USE_M_AXI_GP0", 32), ("M_AXI_GP1", "PCW_USE_M_AXI_GP1", 32)]:
        if cell.flag(used):
            cell.pins[f"{name}_ACLK"] = Pin("in", "clock")
            cell.interfaces[name] = Interface("master", "axi", bits, f"{name}_ACLK")
            cell.spaces.setdefault("Data", []).append(name)
    for port in range(4):
        name = f"S_AXI_HP{port}"
        if cell.flag(f"PCW_USE_{name}"):
            cell.pins[f"{name}_ACLK"] = Pin("in", "clock")
            bits = cell.number(f"PCW_{name}_DATA_WIDTH")
            cell.interfaces[name] = Interface("slave", "axi", bits, f"{name}_ACLK")
            cell.segments[f"{name}/HP{port}_DDR_LOWOCM"] = (name, 0, 512 * MIB)
    if cell.flag("PCW_EN_CLK0_PORT"):
        cell.pins["FCLK_CLK0"] = Pin("out", "clock")
    if cell.flag("PCW_EN_RST0_PORT"):
        cell.pins["FCLK_RESET0_N"] = Pin("out", "low")
    cell.interfaces["DDR"] = Interface("master", "ddr")
    cell.interfaces["FIXED_IO"] = Interface("master", "fixed_io")


def zynq_ultrascale(cell):
    for group, name in [(0, "hpm0_fpd"), (1, "hpm1_fpd"), (2, "hpm0_lpd")]:
        if cell.flag(f"PSU__USE__M_AXI_GP{group}"):
            cell.pins[f"maxi{name}_aclk"] = Pin("in", "clock")
            cell.interfaces[f"M_AXI_{name.upper()}"] = Interface("master", "axi", 128, f"maxi{name}_aclk")
            cell.spaces.setdefault("Data", []).append(f"M_AXI_{name.upper()}")
    for port in range(4):
        if cell.flag(f"PSU__USE__S_AXI_GP{port + 2}"):
            name, bits = f"S_AXI_HP{port}_FPD", cell.number(f"PSU__SAXIGP{port + 2}__DATA_WIDTH")
            cell.pins[f"saxihp{port}_fpd_aclk"] = Pin("in", "clock")
            cell.interfaces[name] = Interface("slave", "axi", bits, f"saxihp{port}_fpd_aclk")
            segments = {"DDR_LOW": (0, 2 * GIB), "DDR_HIGH": (32 * GIB, 32 * GIB), "QSPI": (0xC0000000, 512 * MIB)}
            for segment, (first, size) in (segments | {"LPS_OCM": (0xFF000000, 16 * MIB)}).items():
                cell.segments[f"SAXIGP{port + 2}/HP{port}_{segment}"] = (name, first, size)
    if cell.flag("PSU__FPGA_PL0_ENABLE"):
        cell.pins["pl_clk0"] = Pin("out", "clock")
    if cell.flag("PSU__USE__FABRIC__RST") and cell.number("PSU__NUM_FABRIC_RESETS"):
        cell.pins["pl_resetn0"] = Pin("out", "low")


def axi_dma(cell):
    cell.pins["s_axi_lite_aclk"] = Pin("in", "clock")
    cell.pins["axi_resetn"] = Pin("in", "low", "s_axi_lite_aclk")
    cell.interfaces["S_AXI_LITE"] = Interface("slave", "axi", 32, "s_axi_lite_aclk")
    cell.segments["S_AXI_LITE/Reg"] = ("S_AXI_LITE", None, None)
    if cell.flag("c_include_sg"):
        cell.pins["m_axi_sg_aclk"] = Pin("in", "clock")
        cell.interfaces["M_AXI_SG"] = Interface("master", "axi", 32, "m_axi_sg_aclk")
        cell.spaces["Data_SG"] = ["M_AXI_SG"]
    for way, stream in (("mm2s", Interface("master", "stream")), ("s2mm", Interface("slave", "stream"))):
        if not cell.flag(f"c_include_{way}"):
            continue
        clock, bits = f"m_axi_{way}_aclk", cell.number(f"c_m_axi_{way}_data_width")
        require(bits in (32, 64, 128, 256, 512, 1024), f"an engine's memory port cannot have {bits} bits")
        cell.pins[clock] = Pin("in", "clock")
        cell.interfaces[f"M_AXI_{way.upper()}"] = Interface("master", "axi", bits, clock)
        cell.spaces[f"Data_{way.upper()}"] = [f"M_AXI_{way.upper()}"]
        stream.clock = clock
        if way == "mm2s":
            stream.bits = cell.number("c_m_axis_mm2s_tdata_width")
            require(stream.bits <= bits, f"a stream of {stream.bits} bits on a memory port of {bits}")
        cell.interfaces[f"{stream.mode[0].upper()}_AXIS_{way.upper()}"] = stream
    require(8 <= cell.number("c_sg_length_width") <= 26, "the length register has 8 to 26 bits")


def smartconnect(cell):
    clocks = ["aclk", *(f"aclk{more}" for more in range(1, cell.number("NUM_CLKS")))]
    cell.pins |= {name: Pin("in", "clock") for name in clocks} | {"aresetn": Pin("in", "low", "aclk")}
    for letter, mode, count in (("S", "slave", "NUM_SI"), ("M", "master", "NUM_MI")):
        for port in range(cell.number(count)):
            cell.interfaces[f"{letter}{port:02}_AXI"] = Interface(mode, "axi", None, clocks)


def proc_sys_reset(cell):
    cell.pins |= {
        "slowest_sync_clk": Pin("in", "clock"),
        "ext_reset_in": Pin("in", "reset"),
        "aux_reset_in": Pin("in", "reset", optional=True),
        "mb_debug_sys_rst": Pin("in", "high", optional=True),
        "dcm_locked": Pin("in", "data", optional=True),
        "peripheral_aresetn": Pin("out", "low", "slowest_sync_clk"),
        "interconnect_aresetn": Pin("out", "low", "slowest_sync_clk"),
        "peripheral_reset": Pin("out", "high", "slowest_sync_clk"),
        "bus_struct_reset": Pin("out", "high", "slowest_sync_clk"),
        "mb_reset": Pin("out", "high", "slowest_sync_clk"),
    }


def clk_wiz(cell):
    cell.pins["clk_in1"] = Pin("in", "clock")
    for output in range(1, 8):
        if output == 1 or cell.flag(f"CLKOUT{output}_USED"):
            cell.pins[f"clk_out{output}"] = Pin("out", "clock")
    if cell.flag("USE_LOCKED"):
        cell.pins["locked"] = Pin("out", "data")
    if cell.flag("USE_RESET"):
        cell.pins["reset"] = Pin("in", "high")


def mig_7series(cell):
    cell.pins |= {
        "sys_clk_i": Pin("in", "clock"),
        "clk_ref_i": Pin("in", "clock"),
        "sys_rst": Pin("in", "low"),
        "ui_clk": Pin("out", "clock"),
        "ui_clk_sync_rst": Pin("out", "high", "ui_clk"),
        "mmcm_locked": Pin("out", "data"),
        "init_calib_complete": Pin("out", "data"),
        "aresetn": Pin("in", "low", "ui_clk"),
    }
    cell.interfaces["S_AXI"] = Interface("slave", "axi", 128, "ui_clk")
    cell.interfaces["DDR3"] = Interface("master", "ddr")
    cell.segments["memmap/memaddr"] = ("S_AXI", None, 256 * MIB)


def jtag_axi(cell):
    cell.pins |= {"aclk": Pin("in", "clock"), "aresetn": Pin("in", "low", "aclk")}
    require(cell.config["PROTOCOL"] == "0", "registers and memory behind JTAG need AXI4")
    cell.interfaces["M_AXI"] = Interface("master", "axi", cell.number("M_AXI_DATA_WIDTH"), "aclk")
    cell.spaces["Data"] = ["M_AXI"]


def named(text, **values):
    return dict.fromkeys(text.split(), "0") | values


# Blocks of the catalog: version, function that gives a cell its pins, and parameters with values of a new cell.
CATALOG = {
    "processing_system7": ("5.5", zynq_7000, named(
        "PCW_USE_M_AXI_GP0 PCW_USE_M_AXI_GP1 PCW_USE_FABRIC_INTERRUPT PCW_USE_S_AXI_HP0 PCW_USE_S_AXI_HP1 PCW_USE_S_AXI_HP2 "
        "PCW_USE_S_AXI_HP3 PCW_EN_CLK0_PORT PCW_EN_RST0_PORT PCW_UART0_PERIPHERAL_ENABLE PCW_UART0_UART0_IO "
        "PCW_SD0_PERIPHERAL_ENABLE PCW_SD0_SD0_IO PCW_PRESET_BANK1_VOLTAGE PCW_UIPARAM_DDR_FREQ_MHZ",
        PCW_S_AXI_HP0_DATA_WIDTH="64", PCW_S_AXI_HP1_DATA_WIDTH="64", PCW_S_AXI_HP2_DATA_WIDTH="64", PCW_S_AXI_HP3_DATA_WIDTH="64",
        PCW_FPGA0_PERIPHERAL_FREQMHZ="50", PCW_CRYSTAL_PERIPHERAL_FREQMHZ="33.333333",
        PCW_UIPARAM_DDR_PARTNO="MT41J256M8 HX-15E", PCW_UIPARAM_DDR_BUS_WIDTH="32 Bit")),
    "zynq_ultra_ps_e": ("3.5", zynq_ultrascale, named(
        "PSU__USE__S_AXI_GP2 PSU__USE__S_AXI_GP3 PSU__USE__S_AXI_GP4 PSU__USE__S_AXI_GP5 PSU__USE__IRQ0 PSU__FPGA_PL0_ENABLE "
        "PSU__USE__FABRIC__RST PSU__NUM_FABRIC_RESETS PSU__USE__M_AXI_GP2",
        PSU__USE__M_AXI_GP0="1", PSU__USE__M_AXI_GP1="1", PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ="100",
        PSU__SAXIGP2__DATA_WIDTH="128", PSU__SAXIGP3__DATA_WIDTH="128", PSU__SAXIGP4__DATA_WIDTH="128", PSU__SAXIGP5__DATA_WIDTH="128")),
    "axi_dma": ("7.1", axi_dma, named(
        "", c_include_sg="1", c_sg_length_width="14", c_include_mm2s="1", c_include_s2mm="1", c_m_axi_mm2s_data_width="32",
        c_m_axis_mm2s_tdata_width="32", c_m_axi_s2mm_data_width="32", c_mm2s_burst_size="16", c_s2mm_burst_size="16")),
    "smartconnect": ("1.0", smartconnect, {"NUM_SI": "2", "NUM_MI": "1", "NUM_CLKS": "1"}),
    "proc_sys_reset": ("5.0", proc_sys_reset, {}),
    "clk_wiz": ("6.0", clk_wiz, {
        "PRIM_SOURCE": "Single_ended_clock_capable_pin", "PRIM_IN_FREQ": "100.000", "USE_RESET": "true", "USE_LOCKED": "true"}
        | {f"CLKOUT{output}_USED": "false" for output in range(2, 8)}
        | {f"CLKOUT{output}_REQUESTED_OUT_FREQ": "100.000" for output in range(1, 8)}),
    "mig_7series": ("4.2", mig_7series, named("BOARD_MIG_PARAM MIG_DONT_TOUCH_PARAM RESET_BOARD_INTERFACE XML_INPUT_FILE")),
    "jtag_axi": ("1.2", jtag_axi, {"PROTOCOL": "0", "M_AXI_ADDR_WIDTH": "32", "M_AXI_DATA_WIDTH": "32"}),
}  # fmt: skip

# Parameters that board files change; a script must not depend on them.
PRESETS = {
    "processing_system7": {"PCW_USE_M_AXI_GP0": "1", "PCW_FPGA0_PERIPHERAL_FREQMHZ": "100", "PCW_USE_S_AXI_HP3": "1",
                           "PCW_UIPARAM_DDR_PARTNO": "MT41J256M16 RE-125", "PCW_UIPARAM_DDR_BUS_WIDTH": "16 Bit"},
    "zynq_ultra_ps_e": {"PSU__USE__M_AXI_GP2": "1", "PSU__SAXIGP2__DATA_WIDTH": "64"},
}  # fmt: skip


def require(holds, message):
    if not holds:
        raise Problem(message)


def memory_pins():
    """Returns the names of the pins of a DDR3 memory with 16 bits, 14 bits of addresses and one rank."""
    buses = {"addr": 14, "ba": 3, "ck_n": 1, "ck_p": 1, "cke": 1, "cs_n": 1, "dm": 2, "dq": 16, "dqs_n": 2, "dqs_p": 2, "odt": 1}
    wires = [f"ddr3_{name}" for name in ("cas_n", "ras_n", "we_n", "reset_n")]
    return wires + [f"ddr3_{name}[{bit}]" for name, bits in buses.items() for bit in range(bits)]


class Design:
    """A session of Vivado in a folder: projects, the block design and the results of a script."""

    def __init__(self, folder, has_board_files, fails=None):
        """`fails` is what does not succeed: a run, `slack` or `hwh`."""
        self.folder, self.has_board_files, self.fails = pathlib.Path(folder).resolve(), has_board_files, fails
        self.interpreter = tkinter.Tcl()
        self.cells, self.ports, self.external = {}, {}, {}
        self.drivers, self.peers = {}, {}  # net of an input, other end of a bus
        self.assigned, self.excluded = {}, set()
        self.project, self.repository, self.catalog, self.packaged = None, None, {}, None
        self.packaged_sources, self.top, self.done, self.properties = [], None, [], {}
        self.constraints, self.pads, self.presets = [], {}, set()
        self.interpreter.call("cd", str(self.folder))
        for name in dir(self):
            if name.startswith("tcl_"):
                self.add_command(name.removeprefix("tcl_").replace("ipx_", "ipx::"), getattr(self, name))

    # ---- the interpreter ----

    def add_command(self, name, function):
        def called(*arguments):
            try:
                value = function(*arguments)
                return (1, "" if value is None else value)
            except Problem as found:
                return (0, str(found))
            except (TypeError, ValueError, KeyError) as found:
                return (0, f"{name} {' '.join(map(str, arguments))}: {found!r}")

        hidden = f"model_{name.replace('::', '_')}"
        self.interpreter.createcommand(hidden, called)
        self.interpreter.eval("namespace eval ipx {}")
        self.interpreter.eval(
            f"proc {name} args {{ lassign [{hidden} {{*}}$args] good value; if {{!$good}} {{ error $value }}; return $value }}"
        )

    def run(self, script):
        """Interprets a script."""
        try:
            self.interpreter.eval("rename puts {}; proc puts args {}")
            self.interpreter.eval(script)
        except tkinter.TclError as error:
            raise Problem(str(error)) from None

    def words(self, text):
        return [str(word) for word in self.interpreter.splitlist(text)]

    def options(self, arguments, *with_value):
        """Splits arguments into options and the rest."""
        given, rest, words = {}, [], iter(map(str, arguments))
        for word in words:
            if word in with_value:
                given[word] = next(words)
            elif word.startswith("-"):
                given[word] = True
            else:
                rest.append(word)
        return given, rest

    # ---- projects and the packager ----

    def tcl_create_project(self, *arguments):
        given, (name, folder) = self.options(arguments, "-part")
        require(self.project is None, "a project is still open")
        self.project, self.part, self.project_folder, self.files = name, given["-part"], folder, []

    def tcl_close_project(self):
        require(self.project, "no project is open")
        self.project = None

    def tcl_add_files(self, *arguments):
        given, rest = self.options(arguments, "-fileset")
        for name in self.words(rest[0]):
            require((self.folder / name).exists(), f"{name} does not exist")
            (self.constraints if given.get("-fileset") == "constrs_1" else self.files).append(name)

    def tcl_current_project(self):
        return "project"

    def tcl_current_fileset(self):
        return "fileset"

    def tcl_get_files(self, *patterns):
        return tuple(f"file:{pattern}" for pattern in patterns)

    def tcl_update_compile_order(self, *arguments):
        pass

    def tcl_ipx_package_project(self, *arguments):
        given, _ = self.options(arguments, "-root_dir", "-vendor", "-library", "-taxonomy")
        self.packaged = {"root": given["-root_dir"], "id": f"{given['-vendor']}:{given['-library']}", "buses": {}, "waves": {}}
        self.packaged_sources, self.packaged_top = self.files, self.properties["fileset", "top"]

    def tcl_ipx_current_core(self):
        return "core"

    def tcl_ipx_infer_bus_interface(self, port, kind, core):
        self.packaged["waves"][port] = {"clock_rtl": "clock", "reset_rtl": "reset"}[kind.split(":")[2]]

    def tcl_ipx_get_bus_interfaces(self, name, *_):
        require(name in self.packaged["waves"], f"the block has no interface {name}")
        return f"wave:{name}"

    def tcl_ipx_add_bus_parameter(self, name, wave):
        return f"{wave}:{name}"

    def tcl_ipx_associate_bus_interfaces(self, *arguments):
        given, _ = self.options(arguments, "-busif", "-clock")
        self.packaged["buses"][given["-busif"]] = given["-clock"]

    def tcl_ipx_create_xgui_files(self, core):
        pass

    tcl_ipx_update_checksums = tcl_ipx_check_integrity = tcl_ipx_create_xgui_files

    def tcl_ipx_save_core(self, core):
        self.packaged["name"] = self.properties["core", "name"]
        self.packaged["is saved"] = True

    def package(self):
        """Runs the script of the packager only."""
        (path,) = [path for path in self.folder.glob("*.tcl") if not path.stem.endswith("_system")]
        self.run(path.read_text())

    def unit(self, cell):
        """Gives the accelerator its pins and interfaces: those of the top that was packaged."""
        text = (self.folder / f"{self.packaged_top}.sv").read_text()
        found = re.findall(r"^ +(input|output)\s+logic(?: \[(\d+):0\])? (\w+),?$", text, re.MULTILINE)
        widths = {name: int(high or 0) + 1 for _, high, name in found}
        directions = {name: direction.removesuffix("put") for direction, _, name in found}
        clock = [name for name, kind in self.packaged["waves"].items() if kind == "clock"]
        require(len(clock) == 1, f"the block has the clocks {clock}")
        for bus, associated in self.packaged["buses"].items():
            require(associated in clock, f"{bus} is associated with {associated}, which is no clock")
        for name, direction in directions.items():
            if found := re.fullmatch(r"(\w+)_(awaddr|tdata)", name):
                bus, signal = found[1], found[2]
                protocol = "axi" if signal == "awaddr" else "stream"
                bits = widths[f"{bus}_wdata" if protocol == "axi" else name]
                cell.interfaces[bus] = Interface("master" if direction == "out" else "slave", protocol, bits, clock[0])
                require(bus in self.packaged["buses"], f"{bus} has no clock")
                if protocol == "axi":
                    cell.spaces[bus] = [bus]
        for name, direction in directions.items():
            if any(name.startswith(f"{bus}_") for bus in cell.interfaces):
                continue
            kind = self.packaged["waves"].get(name, "data")
            if kind == "reset":
                polarity = self.properties.get((f"wave:{name}:POLARITY", "value"))
                kind = {"ACTIVE_HIGH": "high", "ACTIVE_LOW": "low"}[polarity]
            cell.pins[name] = Pin(direction, kind, clock[0] if kind in ("high", "low") else None)

    @property
    def top_parameters(self):
        text = (self.folder / f"{self.packaged_top}.sv").read_text()
        return {name: int(value) for name, value in re.findall(r"\.([A-Z0-9_]+)\((?:\d+'d)?(\d+)\)", text)}

    def tcl_get_board_parts(self, *arguments):
        _, (pattern,) = self.options(arguments)
        require(re.fullmatch(r"[\w.]+:[\w-]+:part0:\*", pattern), f"{pattern} is no pattern of board files")
        return (pattern.replace("*", "1.1"), pattern.replace("*", "1.4")) if self.has_board_files else ()

    def tcl_update_ip_catalog(self):
        root = self.properties.get(("project", "ip_repo_paths"))
        self.catalog = {f"xilinx.com:ip:{name}:{version}": name for name, (version, *_) in CATALOG.items()}
        if self.packaged and self.packaged.get("is saved") and root == str((self.folder / self.packaged["root"]).resolve()):
            self.catalog[f"{self.packaged['id']}:{self.packaged['name']}:1.0"] = "unit"

    def tcl_get_ipdefs(self, *arguments):
        given, _ = self.options(arguments, "-filter")
        pattern = re.fullmatch(r"VLNV =~ (\S+)", given["-filter"])[1]
        return tuple(name for name in self.catalog if fnmatch.fnmatchcase(name, pattern))

    # ---- the block design ----

    def tcl_create_bd_design(self, name):
        require(self.project, "no project is open")
        self.design = name

    def tcl_create_bd_cell(self, *arguments):
        given, (name,) = self.options(arguments, "-type", "-vlnv")
        require(name not in self.cells and given["-vlnv"] in self.catalog and self.design, f"cannot make the cell {name}")
        block = self.catalog[given["-vlnv"]]
        cell = Cell(block, {} if block == "unit" else dict(CATALOG[block][2]))
        self.cells[name] = cell
        self.shape(cell)
        return name

    def shape(self, cell):
        """Gives a cell its pins and interfaces again, as its parameters have changed."""
        cell.pins, cell.interfaces, cell.spaces, cell.segments = {}, {}, {}, {}
        self.unit(cell) if cell.block == "unit" else CATALOG[cell.block][1](cell)

    def tcl_apply_bd_automation(self, *arguments):
        given, (name,) = self.options(arguments, "-rule", "-config")
        cell = self.cells[name]
        require(given["-rule"] == f"xilinx.com:bd_rule:{cell.block}", f"{given['-rule']} is no rule of {cell.block}")
        words = self.words(given["-config"])
        config = dict(zip(words[::2], words[1::2]))
        for bus in filter(None, config.get("make_external", "").split(", ")):
            self.external[bus] = Interface("master", cell.interfaces[bus].protocol)
            self.tcl_connect_bd_intf_net(f"{name}/{bus}", bus)
        if config.get("apply_board_preset") == "1":
            require(self.properties.get(("project", "board_part")), "there are no board files to apply")
            cell.config |= PRESETS[cell.block]
            self.presets.add(cell.block)
            self.shape(cell)

    def tcl_create_bd_port(self, *arguments):
        given, (name,) = self.options(arguments, "-dir", "-type", "-freq_hz")
        self.ports[name] = {"type": given["-type"], "mhz": int(given.get("-freq_hz", 0)) / 1e6}

    def tcl_create_bd_intf_port(self, *arguments):
        given, (name,) = self.options(arguments, "-mode", "-vlnv")
        self.external[name] = Interface(given["-mode"].lower(), {"ddrx_rtl": "ddr"}[given["-vlnv"].split(":")[2]])

    def found(self, name, names, kind):
        require(name in names, f"there is no {kind} {name}")
        return name

    def tcl_get_bd_cells(self, name):
        return self.found(name, self.cells, "cell")

    def tcl_get_bd_ports(self, name):
        return self.found(name, self.ports, "port")

    def tcl_get_bd_intf_ports(self, name):
        return self.found(name, self.external, "interface port")

    def inside(self, what):
        return {f"{cell}/{name}": value for cell, it in self.cells.items() for name, value in getattr(it, what).items()}

    def tcl_get_bd_pins(self, name):
        return self.found(name, self.inside("pins"), "pin")

    def tcl_get_bd_intf_pins(self, name):
        return self.found(name, self.inside("interfaces"), "interface")

    def tcl_get_bd_addr_spaces(self, name):
        return self.found(name, self.inside("spaces"), "address space")

    def tcl_get_bd_addr_segs(self, *arguments):
        given, (name,) = self.options(arguments)
        if "-quiet" in given and name not in self.inside("segments"):
            return ""
        return self.found(name, self.inside("segments"), "segment")

    def tcl_connect_bd_net(self, source, sink):
        pins = self.inside("pins")
        require(source in self.ports or pins[source].direction == "out", f"{source} is no output")
        require(sink in pins and pins[sink].direction == "in", f"{sink} is no input")
        require(sink not in self.drivers, f"{sink} is connected twice")
        self.drivers[sink] = source

    def tcl_connect_bd_intf_net(self, one, other):
        ends = {**self.inside("interfaces"), **self.external}
        require(one not in self.peers and other not in self.peers, f"{one} or {other} is connected twice")
        a, b = ends[one], ends[other]
        require(a.protocol == b.protocol, f"{one} and {other} have different protocols")
        is_port = other in self.external
        require((a.mode, b.mode) == (("master", "master") if is_port else ("master", "slave")), f"{one} cannot drive {other}")
        self.peers[one], self.peers[other] = other, one

    def tcl_assign_bd_address(self, *arguments):
        given, (segment,) = self.options(arguments, "-offset", "-range", "-target_address_space")
        first, size, space = int(given["-offset"], 0), int(given["-range"], 0), given["-target_address_space"]
        require(size & (size - 1) == 0 and first % size == 0, f"{segment}: {size:#x} bytes at {first:#x} are not aligned")
        cell, _, name = segment.partition("/")
        _, start, limit = self.cells[cell].segments[name]
        require(start in (None, first) and (limit is None or size <= limit), f"{segment} cannot be at {first:#x}")
        require(segment not in self.assigned.setdefault(space, {}), f"{segment} is mapped twice into {space}")
        for other, (at, count) in self.assigned[space].items():
            require(first + size <= at or at + count <= first, f"{segment} and {other} overlap in {space}")
        self.assigned[space][segment] = (first, size)

    def tcl_exclude_bd_addr_seg(self, *arguments):
        given, (segment,) = self.options(arguments, "-target_address_space")
        self.excluded.add((given["-target_address_space"], segment))

    def tcl_set_property(self, *arguments):
        if arguments[0] == "-dict":
            words = self.words(arguments[1])
            pairs, target = list(zip(words[::2], words[1::2])), arguments[2]
        else:
            pairs, target = [arguments[:2]], arguments[2]
        for name, value in pairs:
            self.properties[str(target), name] = str(value)
            if target in self.cells:
                key = name.removeprefix("CONFIG.")
                require(name != key and key in self.cells[target].config, f"{target} has no parameter {name}")
                self.cells[target].config[key] = str(value)
            elif name == "PACKAGE_PIN":
                self.pads[target] = value
        if target in self.cells:
            self.shape(self.cells[target])

    def tcl_get_property(self, name, target):
        if (target, name) in self.properties:
            return self.properties[target, name]
        if name == "CONFIG.Component_Name":
            return f"{self.design}_{target}_0"
        if name == "IP_DIR":
            folder = self.folder / "ip" / target
            folder.mkdir(parents=True, exist_ok=True)
            return str(folder)
        slack = "-0.125" if self.fails == "slack" else "0.125"
        return {"PROGRESS": "100%" if target in self.done else "42%", "STATUS": f"{target} has an error", "SLACK": slack}[name]

    def tcl_get_ips(self, name):
        return name

    # ---- checks of the whole design ----

    def peer(self, interface):
        require(interface in self.peers, f"{interface} is not connected")
        return self.peers[interface]

    def megahertz(self, clock):
        """Returns the frequency of an output that is a clock."""
        if clock in self.ports:
            return self.ports[clock]["mhz"]
        name, pin = clock.split("/")
        cell = self.cells[name]
        if cell.block == "clk_wiz":
            return float(cell.config[f"CLKOUT{pin[-1]}_REQUESTED_OUT_FREQ"])
        if cell.block == "mig_7series":
            return self.memory_mhz / 4
        key = {"FCLK_CLK0": "PCW_FPGA0_PERIPHERAL_FREQMHZ", "pl_clk0": "PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ"}[pin]
        return float(cell.config[key])

    def check_pins(self):
        for name, pin in self.inside("pins").items():
            if pin.direction == "out":
                continue
            driver = self.drivers.get(name)
            require(driver or pin.optional, f"{name} is not connected")
            if driver:
                self.check_driver(name, pin, driver)

    def check_driver(self, name, pin, driver):
        cell = name.split("/")[0]
        if driver in self.ports:
            kind = {"clk": "clock", "rst": "low"}[self.ports[driver]["type"]]
            if kind == "low":
                require(self.properties.get((driver, "CONFIG.POLARITY")) == "ACTIVE_LOW", f"{driver} has no polarity")
        else:
            kind = self.inside("pins")[driver].kind
        fits = kind == pin.kind or (pin.kind == "reset" and kind in ("low", "high"))
        require(fits, f"{name} is a {pin.kind}, and is driven by {driver}, a {kind}")
        if pin.clock and driver not in self.ports:
            source, _ = driver.split("/")
            of_source = self.inside("pins")[driver].clock
            require(of_source, f"{driver} is not synchronous, but {name} needs that")
            clocks = self.net(f"{source}/{of_source}"), self.net(f"{cell}/{pin.clock}")
            require(clocks[0] == clocks[1], f"{driver} is synchronous to {clocks[0]}, but {name} to {clocks[1]}")

    def net(self, pin):
        """Returns the driver of a pin, which may be itself."""
        return self.drivers.get(pin, pin)

    def check_buses(self):
        for name, interface in self.inside("interfaces").items():
            other = self.peer(name)
            if other in self.external or interface.mode == "slave":
                continue
            end = self.inside("interfaces")[other]
            cells = [name.split("/")[0], other.split("/")[0]]
            require(interface.bits == end.bits or None in (interface.bits, end.bits), f"{name} has {interface.bits} bits, {other} {end.bits}")
            for bits in (interface.bits, end.bits):
                require(bits is None or interface.protocol == "stream" or 32 <= bits <= 1024, f"{name} has {bits} bits")
            ends = []
            for cell, it in zip(cells, (interface, end)):
                pins = [it.clock] if isinstance(it.clock, str) else it.clock
                ends.append({self.net(f"{cell}/{pin}") for pin in pins})
            require(ends[0] & ends[1], f"{name} and {other} have different clocks")
            if end.bits is None and end.protocol == "stream":
                bits = self.cells[cells[1]].number("c_m_axi_s2mm_data_width")
                require(interface.bits <= bits, f"{name} has {interface.bits} bits, but the memory port {bits}")

    def reachable(self, interface, seen=()):
        """Returns the segments that a master reaches."""
        other = self.peer(interface)
        cell, _, port = other.partition("/")
        require(other not in seen, f"{other} reaches itself")
        if self.cells[cell].block == "smartconnect":
            masters = [name for name, it in self.cells[cell].interfaces.items() if it.mode == "master"]
            return [segment for name in masters for segment in self.reachable(f"{cell}/{name}", (*seen, other))]
        return [f"{cell}/{name}" for name, (through, *_) in self.cells[cell].segments.items() if through == port]

    def check_addresses(self):
        for space, masters in self.inside("spaces").items():
            cell = space.split("/")[0]
            reached = {segment for name in masters for segment in self.reachable(f"{cell}/{name}")}
            mapped = set(self.assigned.get(space, {}))
            require(mapped <= reached, f"{space} does not reach {sorted(mapped - reached)}")
            for segment in reached - mapped:
                require((space, segment) in self.excluded, f"{segment} is neither mapped into {space} nor excluded")

    def check_memory(self, name, cell):
        """Checks the project of a memory interface."""
        component = self.tcl_get_property("CONFIG.Component_Name", name)
        path = self.folder / "ip" / component / (cell.config["XML_INPUT_FILE"] or "none")
        require(path.is_file(), f"{name} has no project")
        project = xml.etree.ElementTree.parse(path).getroot()
        controller = project.find("Controller")
        pins = {pin.get("name"): pin.get("PADName") for pin in controller.find("PinSelection")}
        self.pads |= pins
        require(set(pins) == set(memory_pins()), f"{set(pins) ^ set(memory_pins())} of the memory's pins")
        fpga = project.findtext("TargetFPGA").replace("-", "", 1).replace("/", "")
        require(fpga == self.part, f"the memory interface is for {fpga}, the project for {self.part}")
        require(project.findtext("ModuleName") == component, f"the memory interface is not called {component}")
        require(controller.findtext("AXIParameters/C0_S_AXI_DATA_WIDTH") == "128", "the memory interface has another width")
        self.memory_mhz = 1e6 / float(controller.findtext("TimePeriod"))
        clocks = {"sys_clk_i": float(controller.findtext("InputClkFreq")), "clk_ref_i": 200.0}
        for pin, wanted in clocks.items():
            mhz = self.megahertz(self.net(f"{name}/{pin}"))
            require(abs(mhz - wanted) < 0.01, f"{name}/{pin} has {mhz} MHz instead of {wanted}")
        for space in self.assigned.values():
            first, size = space.get(f"{name}/memmap/memaddr", (0, 256 * MIB))
            require(size == int(controller.findtext("C0_MEM_SIZE")), f"the memory has other than {size} bytes")

    def tcl_validate_bd_design(self):
        self.check_pins()
        self.check_buses()
        for name, cell in self.cells.items():
            if cell.block == "mig_7series":
                self.check_memory(name, cell)
            if cell.block == "clk_wiz":
                driver = self.net(f"{name}/clk_in1")
                require(abs(self.megahertz(driver) - float(cell.config["PRIM_IN_FREQ"])) < 0.01, f"{name} has another input")
                buffered = cell.config["PRIM_SOURCE"] != "No_buffer"
                require(buffered == (driver in self.ports), f"the input buffer of {name} does not fit {driver}")
            if cell.block == "processing_system7":
                require(cell.config["PCW_UIPARAM_DDR_BUS_WIDTH"] == "16 Bit", "the boards have a memory of 16 bits")
                require(cell.config["PCW_UIPARAM_DDR_PARTNO"] == "MT41J256M16 RE-125", "the boards have another memory")
            if cell.block in PRESETS and self.has_board_files:
                require(cell.block in self.presets, "the board files are not used")
            if cell.block == "proc_sys_reset":
                self.check_lock(name)
            if cell.block == "axi_dma":
                require(not cell.flag("c_include_sg"), f"{name} is not in direct register mode")
        self.check_addresses()
        require(not self.has_board_files or ("project", "board_part") in self.properties, "the project has no board")
        (unit,) = [name for name, cell in self.cells.items() if cell.block == "unit"]
        (clock,) = [pin for pin, it in self.cells[unit].pins.items() if it.kind == "clock"]
        wanted = float(self.interpreter.getvar("::mhz"))
        mhz = self.megahertz(self.net(f"{unit}/{clock}"))
        require(abs(mhz - wanted) < 0.001 * wanted, f"the unit has {mhz} MHz instead of {wanted}")
        self.done.append("validated")

    def check_lock(self, name):
        """Checks that a reset waits for the generator of its clock, if that shows when it is ready."""
        source = self.net(f"{name}/slowest_sync_clk").split("/")[0]
        locks = {f"{source}/{pin}" for pin in ("locked", "mmcm_locked")} & set(self.inside("pins"))
        require(not locks or self.net(f"{name}/dcm_locked") in locks, f"{name} does not wait for {source}")

    def host_space(self):
        """Returns the address space of the host."""
        hosts = ("processing_system7", "zynq_ultra_ps_e", "jtag_axi")
        (name,) = [name for name, cell in self.cells.items() if cell.block in hosts]
        return f"{name}/Data"

    # ---- runs and results ----

    def tcl_save_bd_design(self):
        pass

    def tcl_make_wrapper(self, *arguments):
        given, _ = self.options(arguments, "-files")
        require("-import" in given and given["-files"] == f"file:{self.design}.bd", "the wrapper is not of the design")
        self.top = f"{self.design}_wrapper"

    def tcl_launch_runs(self, *arguments):
        given, (run,) = self.options(arguments, "-to_step")
        require("validated" in self.done, "the design was not validated")
        require(self.top and self.properties.get(("fileset", "top")) == self.top, "the wrapper is not the top")
        require(run == "synth_1" or "synth_1" in self.done, "implementation needs synthesis")
        self.launched = run
        if run == "impl_1" and given.get("-to_step") == "write_bitstream":
            base = self.folder / self.project_folder
            kind = "gen" if self.has_board_files else "srcs"
            places = (f"runs/impl_1/{self.top}.bit", f"{kind}/sources_1/bd/{self.design}/hw_handoff/{self.design}.hwh")
            for place in places[: 1 if self.fails == "hwh" else 2]:
                path = base / f"{self.project}.{place}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(place)
            self.check_constraints()

    def check_constraints(self):
        """Reads the constraints: each port of the design has a pad."""
        self.add_command("get_ports", lambda name: self.found(name, self.ports, "port"))
        for name in ("set_false_path", "current_design"):
            self.add_command(name, lambda *_: "")
        for name in self.constraints:
            self.interpreter.eval((self.folder / name).read_text())
        for port in self.ports:
            require(port in self.pads and self.properties.get((port, "IOSTANDARD")), f"the port {port} has no pad")
        require(len(set(self.pads.values())) == len(self.pads), "two ports have the same pad")

    def tcl_wait_on_run(self, run):
        require(self.launched == run, f"{run} was not launched")
        if run != self.fails:
            self.done.append(run)

    def tcl_get_runs(self, run):
        return run

    def tcl_open_run(self, run):
        require(run in self.done, f"{run} is not complete")
        self.done.append("opened")

    def tcl_report_utilization(self, *arguments):
        require("opened" in self.done, "no run is open")
        given, _ = self.options(arguments, "-file", "-hierarchical_depth")
        path = self.folder / given["-file"]
        require("-append" not in given or path.exists(), f"{path.name} has no table of the whole design")
        path.write_text("report")

    tcl_report_timing_summary = tcl_report_utilization

    def tcl_get_timing_paths(self, *_):
        require("opened" in self.done, "no run is open")
        return "path"

    def tcl_write_hw_platform(self, *arguments):
        given, _ = self.options(arguments, "-file")
        require("-include_bit" in given and "-fixed" in given and "opened" in self.done, "the export is not complete")
        (self.folder / given["-file"]).write_text("export")

    def check_results(self):
        for name in ("design.bit", "design.hwh", "design.xsa", "utilization.rpt", "timing.rpt"):
            require((self.folder / name).is_file(), f"the script does not write {name}")
