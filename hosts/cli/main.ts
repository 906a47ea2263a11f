#!/usr/bin/env sh
true /*; exec node -- "$0" "$@"; */;

/**
 * The process's entry point: arguments, streams, signals, exit code.
 *
 * The file is a shell script and a module: sh runs the second line, most of which is a comment for Node. The line
 * passes `--` to Node, which would otherwise read `--env-file` after the script's name as its own option. `env -S`
 * could pass `--` too, but Alpine's env lacks `-S`.
 */
import module from "node:module";

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `error: Portside needs Node 24 or newer, but this is ${process.versions.node}. Install a newer Node.\n`,
  );
  process.exit(1);
}
module.enableCompileCache();

/** Under npm, one Ctrl-C arrives twice: from the terminal and from npm. */
const SAME_SIGNAL_MS = 1000;

const stop = new AbortController();
let stoppedAt = 0;
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    // A deliberate second Ctrl-C.
    if (stop.signal.aborted && Date.now() - stoppedAt > SAME_SIGNAL_MS) process.exit(130);
    stoppedAt ||= Date.now();
    stop.abort();
  });
// A reader that closes the pipe early (`portside logs NAME | head`) is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

// `npm run portside` runs in the repository's folder, and passes the caller's folder in INIT_CWD.
const fromRepository =
  process.env["npm_lifecycle_event"] === "portside" && process.env["npm_package_name"] === "portside";

// The other streams are opened lazily: opening all three takes longer than a short command.
let stdin: typeof process.stdin | undefined;
const { runProgram } = await import("./program.ts");
process.exitCode = await runProgram(process.argv.slice(2), {
  stdout: process.stdout,
  get stderr() {
    return process.stderr;
  },
  get stdin() {
    stdin ??= process.stdin;
    return stdin;
  },
  env: process.env,
  cwd: (fromRepository ? process.env["INIT_CWD"] : undefined) ?? process.cwd(),
  signal: stop.signal,
});
stdin?.unref?.();
