/** System calls in a sandbox: the refused ones, and ordinary programs that must not notice. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { refusedGroups, uncountedMemory } from "../../../../adapters/local/sandbox/refused-calls.ts";
import { createBench, node, sandboxSetups, sh } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

beforeEach((context) => needs(context, "bubblewrap"));

/** Prints, for each `name=number`, the name of the kernel's error. */
const caller = `
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for one in sys.argv[1:]:
    name, *numbers = one.replace("=", " ").split()
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(int(number, 0)) for number in numbers])
    print(name, "done" if result >= 0 else errno.errorcode[ctypes.get_errno()], flush=True)
`;

const column = process.arch === "arm64" ? 1 : 0;
const numbered = (group: (typeof refusedGroups)[number]): string[] =>
  Object.entries(group.calls).flatMap(([name, numbers]) => {
    const number = numbers[column];
    return number === undefined ? [] : [`${name}=${number}`];
  });

describe.each(sandboxSetups)("with $limits", (setup) => {
  test("refuses each listed call, even without arguments that the kernel itself would refuse", async (context) => {
    needs(context, "python");
    await using bench = await createBench(setup);
    const groups = setup.limits === "cgroup" ? refusedGroups : [...refusedGroups, uncountedMemory];
    const calls = groups.flatMap((group) => numbered(group).map((call) => ({ call, answer: group.answer })));
    const { stdout } = await bench.run(["python3", "-c", caller, ...calls.map(({ call }) => call)]);
    expect(stdout).toEqual(calls.map(({ call, answer }) => `${call.split("=")[0]} ${answer}`));
  });

  test("refuses namespaces in clone, and socket families that bypass a network namespace", async (context) => {
    needs(context, "python");
    await using bench = await createBench(setup);
    const [clone, socket] = column === 0 ? [56, 41] : [220, 198];
    const flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
    const clones = flags.map((flag) => `clone=${clone} ${flag + 17} 0 0 0 0`);
    // AF_PACKET, AF_ALG, AF_VSOCK.
    const sockets = [17, 38, 40].map((family) => `socket=${socket} ${family} 3 0`);
    const { stdout } = await bench.run(["python3", "-c", caller, ...clones, ...sockets]);
    expect(stdout).toEqual([...flags.map(() => "clone EPERM"), ...sockets.map(() => "socket EAFNOSUPPORT")]);
  });

  test("refuses to type into a terminal", async (context) => {
    needs(context, "python");
    await using bench = await createBench(setup);
    const script = `import fcntl, os
main, _ = os.openpty()
for request in (0x5412, 0x541C, 0x5423):
    try: fcntl.ioctl(main, request, b"x"); print("done")
    except OSError as error: print(error.strerror)`;
    const { stdout } = await bench.run(["python3", "-c", script]);
    expect(stdout).toEqual(Array(3).fill("Operation not permitted"));
  });

  test("kills a program that makes 32-bit system calls", async (context) => {
    needs(context, "cc");
    if (process.arch !== "x64") return context.skip("only x86-64 has 32-bit system calls");
    await using bench = await createBench(setup);
    await writeFile(
      join(bench.folder, "old.c"),
      `#include <stdio.h>
#include <unistd.h>
#include <errno.h>
int main(void) {
  long got = syscall(0x40000000 + 39);
  printf("x32 %ld %d\\n", got, errno);
  fflush(stdout);
  int pid;
  __asm__ volatile("int $0x80" : "=a"(pid) : "a"(20));
  printf("pid %d\\n", pid);
}`,
    );
    const binds = [{ host: bench.folder, inside: "/src", writable: true }];
    const { stdout, signal } = await bench.run(sh("cc -o /tmp/old /src/old.c && exec /tmp/old"), { binds });
    expect(stdout).toEqual(["x32 -1 38"]);
    expect(signal).toBe("SIGSYS");
  });

  test("gives no second user namespace, even to programs of the system", async () => {
    await using bench = await createBench(setup);
    const { stdout } = await bench.run(
      sh("unshare -U true || echo no; unshare -m true || echo no; bwrap --ro-bind / / true || echo no"),
    );
    expect(stdout).toEqual(["no", "no", "no"]);
  });

  test("lets Node.js use threads, children, workers, sockets and files", async () => {
    await using bench = await createBench(setup);
    const program = `
const { Worker } = require("node:worker_threads");
const { execFileSync, fork } = require("node:child_process");
const net = require("node:net"), fs = require("node:fs"), dns = require("node:dns");
(async () => {
  await new Promise((done) => new Worker("0", { eval: true }).on("exit", done));
  execFileSync("true");
  const server = net.createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1", () => {
    net.connect(server.address().port).on("data", (data) => console.log(String(data))).on("close", () => server.close());
  });
  net.createServer().listen("/tmp/socket", function () { this.close(); });
  fs.watch("/tmp").close();
  await fs.promises.writeFile("/tmp/file", "x");
  await dns.promises.lookup("localhost");
  require("node:zlib").gzipSync("x"); require("node:crypto").scryptSync("a", "b", 32);
  require("node:os").networkInterfaces();
})();`;
    const { stdout, stderr, code } = await bench.run(node(program));
    expect({ stdout, stderr, code }).toEqual({ stdout: ["hello"], stderr: [], code: 0 });
  });

  test("lets Python use threads, processes, locks and shared memory", async (context) => {
    needs(context, "python");
    await using bench = await createBench(setup);
    const program = `
import multiprocessing, subprocess, threading, tempfile, mmap, asyncio, ctypes, sqlite3
from multiprocessing import shared_memory
def work(lock, total):
    with lock: total.value += 1
lock, total = multiprocessing.Lock(), multiprocessing.Value("i", 0)
many = [multiprocessing.Process(target=work, args=(lock, total)) for _ in range(3)]
[one.start() for one in many]; [one.join() for one in many]
threads = [threading.Thread(target=lambda: None) for _ in range(3)]
[one.start() for one in threads]; [one.join() for one in threads]
block = shared_memory.SharedMemory(create=True, size=4096); block.close(); block.unlink()
mmap.mmap(-1, 4096)[0] = 1
asyncio.run(asyncio.sleep(0))
sqlite3.connect("/tmp/data").execute("create table t (x)")
print(total.value, subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())`;
    const { stdout, stderr, code } = await bench.run(["python3", "-c", program]);
    expect({ stdout, stderr, code }).toEqual({ stdout: ["3 child"], stderr: [], code: 0 });
  });
});
