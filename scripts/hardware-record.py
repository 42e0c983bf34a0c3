#!/usr/bin/env python3
"""Record what Nsight Compute counts for the programs in test/hardware/programs.

Needs a GPU whose counters may be read, nvcc, ncu with its Python interface, cuobjdump and nvdisasm.
For every program (a .cu file, or a folder of sources): compile, run (it checks itself against the CPU), profile, and write one JSON file
in the format that test/hardware/README.md documents. Nothing in those files is edited by hand.

    python3 scripts/hardware-record.py [--programs DIR] [--out DIR] [--only NAME ...] [--arch sm_90] [--interface DIR]
                                       [--accesses-only] [--launches N] [--each N] [--seconds N]

Exit status: 0 all recorded, 1 a program failed to compile, failed its check or could not be profiled.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "..", "test", "hardware", "programs")
RECORDED = os.path.join(HERE, "..", "test", "hardware", "recorded")

# Opcode stem -> (space, operation). LDGSTS stands twice: it reads global and writes shared memory.
ACCESSES = {
    "LDS": [("shared", "load")], "LDSM": [("shared", "load")],
    "STS": [("shared", "store")], "STSM": [("shared", "store")],
    "ATOMS": [("shared", "atomic")],
    "LDG": [("global", "load")], "STG": [("global", "store")],
    "ATOMG": [("global", "atomic")], "RED": [("global", "atomic")], "REDG": [("global", "atomic")],
    "LDGSTS": [("global", "load"), ("shared", "store")],
    "LDL": [("local", "load")], "STL": [("local", "store")],
    "LDC": [("constant", "load")], "ULDC": [("constant", "load")],
    "LD": [("generic", "load")], "ST": [("generic", "store")], "ATOM": [("generic", "atomic")],
    "TEX": [("texture", "load")], "TLD": [("texture", "load")], "TLD4": [("texture", "load")],
}
# Bank 0 at a fixed offset holds launch dimensions and kernel parameters, bank 4 the addresses of
# variables: reading them is no access that a user wrote. __constant__ variables are in bank 3.
PLAIN_CONSTANT = re.compile(r"c\[0x[04]\]\[(RZ|0x[0-9a-f]+)\]")

# Per-instruction counters of the source page, in the order in which they stand in an 'instructions' row.
COUNTERS = [
    ("requests", "inst_executed"),
    ("lanes", "thread_inst_executed"),
    ("predicatedOnLanes", "thread_inst_executed_true"),
    ("wavefronts", "memory_l1_wavefronts_shared"),
    ("idealWavefronts", "memory_l1_wavefronts_shared_ideal"),
    ("sectors", "memory_l2_theoretical_sectors_global"),
    ("idealSectors", "memory_l2_theoretical_sectors_global_ideal"),
    ("tagRequests", "memory_l1_tag_requests_global"),
]

# Counters that mean something in one space only.
SPACE_OF_COUNTER = {"wavefronts": "shared", "idealWavefronts": "shared",
                    "sectors": "global", "idealSectors": "global", "tagRequests": "global"}

LAUNCH_METRICS = {
    "registersPerThread": "launch__registers_per_thread",
    "staticSharedBytes": "launch__shared_mem_per_block_static",
    "dynamicSharedBytes": "launch__shared_mem_per_block_dynamic",
    "theoreticalOccupancyPercent": "sm__maximum_warps_per_active_cycle_pct",
    "achievedOccupancyPercent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "durationNs": "gpu__time_duration.sum",
    "smCycles": "sm__cycles_elapsed.max",
    "smClockHz": "smsp__cycles_elapsed.avg.per_second",
    "dramClockHz": "dram__cycles_elapsed.avg.per_second",
    "instructionsExecuted": "smsp__inst_executed.sum",
    "dramBytesRead": "dram__bytes_read.sum",
    "dramBytesWritten": "dram__bytes_write.sum",
    "l1HitPercent": "l1tex__t_sector_hit_rate.pct",
    "l2HitPercent": "lts__t_sector_hit_rate.pct",
    "smThroughputPercent": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memoryThroughputPercent": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "dramThroughputPercent": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1ThroughputPercent": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l2ThroughputPercent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "sharedWavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "divergentBranches": "smsp__sass_branch_targets_threads_divergent.sum",
    "spillInstructions": "sass__inst_executed_register_spilling",
}
# What the counters of accesses need: fewer passes than the full set, without times, throughputs and cache hits.
ACCESSES_ONLY = ["--section", "SourceCounters", "--section", "LaunchStats", "--section", "Occupancy"]
BLOCK_LIMITS = {
    "blocks": "launch__occupancy_limit_blocks",
    "registers": "launch__occupancy_limit_registers",
    "shared": "launch__occupancy_limit_shared_mem",
    "warps": "launch__occupancy_limit_warps",
}


def run(command, timeout=None, **kwargs):
    """What it prints. In time, or all that it started ends: a program whose profiler alone ends goes on and holds the GPU."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True, **kwargs) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output)


def version_of(tool, pattern):
    found = re.search(pattern, run([tool, "--version"]).stdout)
    return found.group(1) if found else "unknown"


SOURCE = re.compile(r"\.(cu|cpp|cc|cxx|c)$")


def program_name(program):
    return os.path.splitext(os.path.basename(program))[0]


def files_of(program):
    """Sources and headers of a program: a .cu file and what lies beside it, or all that a folder holds."""
    if not os.path.isdir(program):
        return [os.path.join(os.path.dirname(program), name) for name in os.listdir(os.path.dirname(program))]
    return [os.path.join(folder, name) for folder, _, names in os.walk(program) for name in sorted(names)]


def sources_of(program):
    """What the compiler is given."""
    return [f for f in files_of(program) if SOURCE.search(f)] if os.path.isdir(program) else [program]


def extra_flags(source):
    """A program may ask for compiler flags in its first line: '// nvcc: --extended-lambda'."""
    with open(source, encoding="utf-8", errors="replace") as file:
        found = re.match(r"//\s*nvcc:\s*(.*)", file.readline())
    return found.group(1).split() if found else []


def compile_program(program, work, arch):
    binary = os.path.join(work, program_name(program))
    sources = sources_of(program)
    flags = ["-O3", f"-arch={arch}", "-lineinfo"] + [flag for source in sources for flag in extra_flags(source)]
    folder = program if os.path.isdir(program) else os.path.dirname(program)
    result = run(["nvcc", *flags, *[os.path.relpath(s, folder) for s in sources], "-o", binary], cwd=folder)
    return binary, flags, result


def inline_chains(binary, work):
    """{mangled kernel: {offset: [(file, line), ...innermost first]}} from the disassembler's line annotations."""
    folder = tempfile.mkdtemp(dir=work)
    run(["cuobjdump", "-xelf", "all", binary], cwd=folder)
    chains = {}
    for cubin in glob.glob(os.path.join(folder, "*.cubin")):
        text = run(["nvdisasm", "-gi", "-c", cubin]).stdout
        table, chain, fresh = None, [], False
        for line in text.splitlines():
            section = re.match(r"\s*\.section\s+\.text\.([\w$.]+)", line)
            if section:
                table, chain = chains.setdefault(section.group(1), {}), []
                continue
            source = re.search(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?', line)
            if source:
                if not fresh:
                    chain, fresh = [], True
                entry = (os.path.basename(source.group(1)), int(source.group(2)))
                if not chain or chain[-1] != entry:
                    chain.append(entry)
                if source.group(3):
                    chain.append((os.path.basename(source.group(3)), int(source.group(4))))
                continue
            code = re.match(r"\s*/\*([0-9a-f]{4,})\*/", line)
            if code and table is not None:
                table[int(code.group(1), 16)] = list(chain)
                fresh = False
    return chains


def value(action, metric, index=None):
    m = action.metric_by_name(metric)
    if m is None:
        return None
    if index is None:
        number = m.as_double() if m.kind() in FLOAT_KINDS else m.as_uint64()
    else:
        number = m.as_double(index) if m.kind() in FLOAT_KINDS else m.as_uint64(index)
    return number


def tidy(number):
    if number is None:
        return None
    if isinstance(number, float):
        return int(number) if number == int(number) else round(number, 4)
    return int(number)


def per_pc(action, metric):
    m = action.metric_by_name(metric)
    if m is None or m.num_instances() == 0 or not m.has_correlation_ids():
        return {}
    ids = m.correlation_ids()
    return {ids.as_uint64(i): m.as_uint64(i) for i in range(m.num_instances())}


def opcode_of(sass):
    words = sass.strip().rstrip(";").split()
    if words and words[0].startswith("@"):
        return words[1], words[0]
    return (words[0] if words else ""), None


def width_of(opcode):
    parts = opcode.split(".")[1:]
    for part in parts:
        if part in ("U8", "S8"):
            return 1
        if part in ("U16", "S16"):
            return 2
        if part == "64":
            return 8
        if part == "128":
            return 16
    if opcode.split(".")[0] == "LDSM":
        return 16 * next((int(p) for p in parts if p in ("2", "4")), 1) // 4
    return 4


def reduce_action(action, chains, own_files):
    counters = {name: per_pc(action, metric) for name, metric in COUNTERS}
    pcs = sorted(counters["requests"])
    base = pcs[0] if pcs else 0
    mangled = action.name(ncu_report.IAction.NameBase_MANGLED)
    kernel_chains = chains.get(mangled, {})
    groups = {}
    for pc in pcs:
        sass = action.sass_by_pc(pc)
        opcode, predicate = opcode_of(sass)
        stem = opcode.split(".")[0]
        if stem not in ACCESSES or (stem in ("LDC", "ULDC") and PLAIN_CONSTANT.search(sass)):
            continue
        info = action.source_info(pc)
        file = os.path.basename(info.file_name()) if info else None
        line = info.line() if info else None
        chain = kernel_chains.get(pc - base, [])
        reported = (file, line)
        if file not in own_files:
            file, line = next(((f, l) for f, l in chain if f in own_files), reported)
        row = [f"{pc - base:04x}", (predicate + " " if predicate else "") + opcode]
        row += [counters[name].get(pc, 0) for name, _ in COUNTERS]
        for space, operation in ACCESSES[stem]:
            group = groups.setdefault((file or "", line or 0, space, operation),
                                      {"rows": [], "bytes": set(), "reportedAt": set(), "chains": set()})
            group["rows"].append(row)
            group["bytes"].add(width_of(opcode))
            if reported != (file, line):
                group["reportedAt"].add("%s:%s" % reported)
            if len(chain) > 1:
                group["chains"].add(" < ".join(f"{f}:{l}" for f, l in chain))

    result = []
    for (file, line, space, operation), group in sorted(groups.items(), key=lambda item: item[0]):
        entry = {"file": file, "line": line, "space": space, "operation": operation, "bytes": sorted(group["bytes"])}
        for at, (name, _) in enumerate(COUNTERS, start=2):
            total = sum(row[at] for row in group["rows"])
            wanted = SPACE_OF_COUNTER.get(name)
            if wanted is None or wanted == space or (space == "generic" and total):
                entry[name] = total
        for key in ("reportedAt", "chains"):
            if group[key]:
                entry[key] = sorted(group[key])
        entry["instructions"] = group["rows"]
        result.append(entry)

    launch = {
        "kernel": action.name(ncu_report.IAction.NameBase_DEMANGLED),
        "function": action.name(ncu_report.IAction.NameBase_FUNCTION),
        "mangled": mangled,
        "grid": [tidy(value(action, f"launch__grid_dim_{d}")) for d in "xyz"],
        "block": [tidy(value(action, f"launch__block_dim_{d}")) for d in "xyz"],
    }
    for name, metric in LAUNCH_METRICS.items():
        number = tidy(value(action, metric))
        if number is not None:
            launch[name] = number
    launch["blockLimits"] = {name: tidy(value(action, metric)) for name, metric in BLOCK_LIMITS.items()}
    launch["groups"] = result
    return launch


# Kernels that a library launches are not the program's.
LIBRARY = re.compile(r"(?:void )?(?:cub|thrust)::")


def record(source, work, binary, flags, args):
    """What the program launches, run in its own folder where it has one: it may read files there."""
    folder = source if os.path.isdir(source) else None
    name = os.path.basename(source)
    check = run([binary], timeout=60, cwd=folder)
    if check.returncode != 0 or "FAIL" in check.stdout:
        return None, f"{name}: check failed\n{check.stdout[-1500:]}"
    stem = os.path.join(work, name)
    sections = ACCESSES_ONLY if args.accesses_only else ["--set", "full"]
    count = ["--launch-count", str(args.launches)] if args.launches else []
    if args.each:
        count = ["--filter-mode", "per-launch-config", "--launch-count", str(args.each)]
    profile = run(["ncu", "--clock-control", "none", *sections, *count, "--import-source", "yes", "-f",
                   "-o", stem, binary], timeout=args.seconds, cwd=folder)
    if not os.path.exists(stem + ".ncu-rep"):
        return None, f"{name}: not profiled\n{profile.stdout[-1500:]}"
    chains = inline_chains(binary, work)
    context = ncu_report.load_report(stem + ".ncu-rep")
    own_files = {os.path.basename(file) for file in files_of(source)}
    launches, device = [], None
    for r in range(context.num_ranges()):
        span = context.range_by_idx(r)
        for a in range(span.num_actions()):
            action = span.action_by_idx(a)
            device = action.metric_by_name("device__attribute_display_name").as_string()
            if not LIBRARY.match(action.name(ncu_report.IAction.NameBase_DEMANGLED)):
                launches.append(reduce_action(action, chains, own_files))
    return {
        "schemaVersion": 1,
        "program": name,
        "device": device,
        "computeCapability": f"{args.arch[3:-1]}.{args.arch[-1]}",
        "nvcc": version_of("nvcc", r"V([\d.]+)"),
        "ncu": version_of("ncu", r"Version ([\d.]+)"),
        "flags": flags,
        "counters": [counter for counter, _ in COUNTERS],
        "launches": launches,
    }, None


def write(path, data):
    """One line a group: small differences between recordings stay readable."""
    head = {key: data[key] for key in data if key != "launches"}
    lines = [json.dumps(head)[:-1] + ', "launches": [']
    for i, launch in enumerate(data["launches"]):
        plain = {key: launch[key] for key in launch if key != "groups"}
        lines.append(json.dumps(plain)[:-1] + ', "groups": [')
        lines.append(",\n".join(json.dumps(group, separators=(",", ":")) for group in launch["groups"]))
        lines.append("]}" + ("," if i + 1 < len(data["launches"]) else ""))
    lines.append("]}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def find_interface():
    places = glob.glob("/opt/nvidia/nsight-compute/*/extras/python") + glob.glob("/usr/local/cuda*/nsight-compute*/extras/python")
    return sorted(places)[-1] if places else None


def main():
    options = argparse.ArgumentParser(description="Record profiler counters for test/hardware/programs.")
    options.add_argument("--programs", default=PROGRAMS, help="folder of the .cu files and of folders with a program each")
    options.add_argument("--out", default=RECORDED)
    options.add_argument("--only", nargs="*", help="program names without .cu")
    options.add_argument("--arch", default="sm_90")
    options.add_argument("--interface", default=find_interface(), help="folder of ncu_report.py")
    options.add_argument("--accesses-only", action="store_true", help="fewer passes: no times, throughputs, cache hits")
    options.add_argument("--launches", type=int, help="the first so many launches of a program")
    options.add_argument("--each", type=int, help="the first so many launches of each kernel and shape, instead of --launches")
    options.add_argument("--seconds", type=int, default=300, help="for profiling one program")
    options.add_argument("--keep", help="folder that keeps binaries and reports")
    args = options.parse_args()

    global ncu_report, FLOAT_KINDS
    sys.path.insert(0, args.interface or ".")
    import ncu_report
    FLOAT_KINDS = (ncu_report.IMetric.ValueKind_FLOAT, ncu_report.IMetric.ValueKind_DOUBLE)

    inside = sorted(glob.glob(os.path.join(os.path.abspath(args.programs), "*")))
    sources = [s for s in inside if s.endswith(".cu") or os.path.isdir(s)]
    if args.only:
        sources = [s for s in sources if program_name(s) in args.only]
    os.makedirs(args.out, exist_ok=True)
    work = args.keep or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)

    failures = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(lambda s: compile_program(s, work, args.arch), sources))
    for source, (binary, flags, result) in zip(sources, built):
        name = program_name(source)
        if result.returncode != 0:
            failures.append(f"{name}: does not compile\n{result.stdout[-1500:]}")
            continue
        try:
            data, problem = record(source, work, binary, flags, args)
        except Exception as error:  # one broken program must not cost the others their recording
            data, problem = None, f"{name}: {type(error).__name__}: {error}"
        if data is None:
            failures.append(problem)
            print(problem, flush=True)
            continue
        write(os.path.join(args.out, name + ".json"), data)
        print(f"{name}: {len(data['launches'])} launches", flush=True)
    print(f"{len(sources) - len(failures)} of {len(sources)} programs recorded")
    for failure in failures:
        print("FAILED " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
