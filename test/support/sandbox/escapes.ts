/**
 * Attacks of a hostile service or build on its limits, as Python scripts. A script prints `held` if it got far more
 * than its limit, or `escaped` if it got a right that it must not have. Otherwise it ends, or is killed.
 */

/** The limits of the attacks: bytes of memory and number of processes. */
export const escapeLimits = { memory: 64 * 1024 ** 2, cpu: 1, processes: 60 };

/** Four times the limit, in MiB. */
const MUCH = 256;

const prelude = `
import ctypes, fcntl, mmap, os, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
M = 1 << 20
block = b"x" * M
def hold():
    # Long enough for the watchdog, which polls the memory.
    time.sleep(3)
    print("held", flush=True)
def fill(path, much):
    with open(path, "wb") as file:
        for _ in range(much): file.write(block)
def daemon(work):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    os.closerange(3, 64)
    os.execve("/usr/bin/python3", ["python3", "-c", work], {})
`;

const eat = `import time; kept = bytearray(${MUCH} << 20); time.sleep(3); print("held", flush=True)`;

export const memoryEscapes: Readonly<Record<string, string>> = {
  "its own memory": `kept = bytearray(${MUCH} * M); hold()`,
  "memory of many processes": `
children = []
for _ in range(16):
    children.append(os.fork())
    if children[-1] == 0:
        kept = bytearray(16 * M)
        time.sleep(60)
time.sleep(2)
if all(os.waitpid(one, os.WNOHANG)[0] == 0 for one in children): hold()`,
  "memory of a daemon in a new session, without environment": `daemon(${JSON.stringify(eat)}); time.sleep(8)`,
  "files in /tmp": `
for one in range(4): fill(f"/tmp/{one}", ${MUCH / 4})
hold()`,
  "files in /tmp and /dev/shm together": `
fill("/tmp/a", 60); fill("/dev/shm/a", 60); kept = bytearray(50 * M); hold()`,
  "unlinked files in /dev/shm": `
kept = []
for one in range(${MUCH}):
    file = open("/dev/shm/x", "w+b"); os.unlink("/dev/shm/x"); file.write(block); file.flush(); kept.append(file)
hold()`,
  "a file in memory": `
kept = os.memfd_create("x")
for _ in range(${MUCH}): os.write(kept, block)
hold()`,
  "shared memory that is in no process's pages": `
kept = mmap.mmap(-1, ${MUCH} * M)
for at in range(${MUCH}):
    kept[at * M:(at + 1) * M] = block
    kept.madvise(mmap.MADV_DONTNEED, at * M, M)
hold()`,
  "System V shared memory that nothing is attached to": `
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
for _ in range(${MUCH / 16}):
    one = libc.shmget(0, 16 * M, 0o1600)
    if one < 0: sys.exit(1)
    at = libc.shmat(one, None, 0)
    ctypes.memset(at, 1, 16 * M)
    libc.shmdt(at)
hold()`,
  "System V messages": `
buffer = ctypes.create_string_buffer(8 + 8192); buffer[0] = 1
for _ in range(${MUCH * 64}):
    queue = libc.msgget(0, 0o1600)
    if queue < 0: sys.exit(1)
    for _ in range(2):
        if libc.msgsnd(queue, buffer, 8192, 0o4000) < 0: break
hold()`,
  "full pipes": `
kept = []
for _ in range(${MUCH}):
    read, write = os.pipe(); fcntl.fcntl(write, 1031, M); os.set_blocking(write, False)
    if os.write(write, block) < M: sys.exit(1)
    kept += [read, write]
hold()`,
};

/** Only the kernel accounts for socket buffers. */
export const socketEscape = `
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept, total = [], 0
while total < ${MUCH} * M:
    pair = socket.socketpair(); kept.append(pair)
    for one in pair:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, M); one.setblocking(False)
        try:
            while True: total += one.send(block[:65536])
        except BlockingIOError: pass
hold()`;

export const processEscapes: Readonly<Record<string, string>> = {
  "a fork bomb": `
made = 0
try:
    while made < 240:
        if os.fork() == 0: time.sleep(60); os._exit(0)
        made += 1
    hold()
except OSError: pass`,
  "many threads": `
threads = []
try:
    while len(threads) < 240:
        one = threading.Thread(target=time.sleep, args=(60,), daemon=True); one.start(); threads.append(one)
    hold()
except RuntimeError: pass
os._exit(0)`,
  "daemons in sessions of their own, without environment": `
try:
    for _ in range(240): daemon("import time; time.sleep(60)")
    hold()
except OSError: pass`,
};

export const rightEscapes: Readonly<Record<string, string>> = {
  "every way to create a user namespace": `
flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
for flag in flags:
    if libc.unshare(flag) == 0 or libc.unshare(flag | 0x10000000) == 0: print("escaped unshare", hex(flag))
    pid = libc.syscall(56 if os.uname().machine == "x86_64" else 220, flag | 17, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: print("escaped clone", hex(flag))
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
pid = libc.syscall(435, arguments, 88)
if pid == 0: os._exit(0)
if pid > 0: print("escaped clone3")
for command in (["unshare", "-UrmC", "true"], ["bwrap", "--ro-bind", "/", "/", "true"], ["unshare", "-r", "true"]):
    if subprocess.run(command, capture_output=True).returncode == 0: print("escaped", command)`,
  "another's namespaces": `
for root in ("/proc/1", "/proc/self"):
    for name in os.listdir(root + "/ns"):
        try: descriptor = os.open(f"{root}/ns/{name}", os.O_RDONLY)
        except OSError: continue
        if libc.setns(descriptor, 0) == 0: print("escaped", root, name)`,
  "mounts of control groups, processes and devices": `
os.makedirs("/tmp/point", exist_ok=True)
for kind in ("cgroup", "cgroup2", "proc", "sysfs", "tmpfs", "devtmpfs", "overlay"):
    for options in (b"", b"memory"):
        if libc.mount(b"none", b"/tmp/point", kind.encode(), 0, options) == 0: print("escaped", kind)
    if libc.syscall(430, kind.encode(), 0) >= 0: print("escaped fsopen", kind)
if libc.mount(b"/proc", b"/tmp/point", None, 4096, None) == 0: print("escaped bind")
if libc.syscall(428, -100, b"/", 1) >= 0: print("escaped open_tree")
if libc.umount2(b"/proc/sys", 2) == 0: print("escaped umount")
if libc.mount(None, b"/", None, 32, None) == 0: print("escaped remount")`,
  "settings of the kernel": `
for folder, _, files in os.walk("/proc/sys"):
    for name in files:
        try:
            with open(f"{folder}/{name}", "r+b") as file: print("escaped", folder, name)
        except OSError: pass
for path in ("/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/proc/1/oom_score_adj"):
    try:
        with open(path, "w") as file: file.write("-1000")
        print("escaped", path)
    except OSError: pass`,
  "files of control groups": `
if os.path.exists("/sys"): print("escaped: /sys is there")
for line in open("/proc/self/mountinfo"):
    if " - cgroup" in line or " - sysfs" in line: print("escaped", line)`,
  "a program in memory that creates a user namespace": `
try: kept = os.memfd_create("x")
except OSError: kept = os.open("/tmp/program", os.O_RDWR | os.O_CREAT, 0o755)
os.write(kept, open("/usr/bin/unshare", "rb").read())
copy = os.open(f"/proc/self/fd/{kept}", os.O_RDONLY)
os.close(kept)
if subprocess.run([f"/proc/self/fd/{copy}", "-Ur", "true"], pass_fds=[copy], capture_output=True).returncode == 0: print("escaped")`,
  "programs that set their user": `
for command in (["su", "-c", "true"], ["sudo", "-n", "true"], ["mount", "-t", "tmpfs", "none", "/tmp"], ["newuidmap", "1", "0", "0", "1"]):
    try:
        if subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0: print("escaped", command)
    except OSError: pass
for call in ("setuid", "setgid", "setegid", "seteuid"):
    if getattr(libc, call)(0) == 0: print("escaped", call)`,
  "limits that it sets itself": `
import resource
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_DATA, resource.RLIMIT_MEMLOCK):
    hard = resource.getrlimit(kind)[1]
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if hard != resource.RLIM_INFINITY: print("escaped", kind)
    except (OSError, ValueError): pass
for call in (lambda: os.nice(-5), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))):
    try: call(); print("escaped priority")
    except OSError: pass`,
};

export const attack = (script: string): [string, string, string] => ["python3", "-c", `${prelude}\n${script}`];
