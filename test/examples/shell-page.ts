/** Runs a page's shell commands in order in an empty folder, with a platform as the page describes it. */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";

const portside = `#!/bin/sh
exec '${process.execPath}' '${resolve("hosts/cli/main.ts")}' "$@"
`;

/** A minimal systemctl for the pages: its only service is the platform. */
const systemctl = `#!/bin/sh
case "$1" in
start)
  kill -0 "$(cat "$HOME/serve.pid" 2> /dev/null)" 2> /dev/null && exit 0
  portside serve --json >> "$HOME/serve.out" 2>> "$HOME/serve.err" &
  echo $! > "$HOME/serve.pid"
  until [ -s "$HOME/serve.out" ] && curl -fs -o /dev/null "$PORTSIDE_URL/health" 2> /dev/null; do
    kill -0 "$(cat "$HOME/serve.pid")" || { cat "$HOME/serve.err"; exit 1; }
    sleep 0.1
  done ;;
reload)
  pid=$(portside upgrade --json | sed -n 's/.*"pid":\\([0-9]*\\).*/\\1/p')
  [ -n "$pid" ] && echo "$pid" > "$HOME/serve.pid" ;;
stop)
  kill "$(cat "$HOME/serve.pid")"
  while kill -0 "$(cat "$HOME/serve.pid")" 2> /dev/null; do sleep 0.1; done ;;
esac
`;

export interface ShellRun {
  readonly code: number | null;
  /** All output, each block after its position in the page. */
  readonly output: string;
}

export class ShellPage implements Disposable {
  readonly #page: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "portside-shell-"));
  readonly #env: NodeJS.ProcessEnv;
  readonly #groups: number[] = [];

  constructor(page: string, port: number) {
    this.#page = page;
    const bin = join(this.#folder, "bin");
    mkdirSync(bin);
    mkdirSync(join(this.#folder, "here"));
    // Makes HTTP errors fail the page, and hides progress output.
    writeFileSync(join(this.#folder, ".curlrc"), "fail\nsilent\nshow-error\n");
    for (const [name, program] of Object.entries({ portside, systemctl })) {
      writeFileSync(join(bin, name), program);
      chmodSync(join(bin, name), 0o755);
    }
    const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
    this.#env = {
      PATH: `${bin}:${PATH}`,
      ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
      HOME: this.#folder,
      PORTSIDE_DATA_DIR: join(this.#folder, "data"),
      PORTSIDE_PORT: String(port),
      PORTSIDE_INGRESS_PORT: "0",
      PORTSIDE_URL: `http://127.0.0.1:${port}`,
    };
  }

  get blocks(): readonly { readonly where: string; readonly code: string }[] {
    const markdown = readFileSync(this.#page, "utf8");
    return [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => ({
      where: `${this.#page}:${markdown.slice(0, match.index).split("\n").length}`,
      code: match[1] as string,
    }));
  }

  async #shell(script: string): Promise<ShellRun> {
    const child = spawn("sh", ["-eu", "-c", script], {
      cwd: join(this.#folder, "here"),
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe"],
      // A separate process group, so that the test can end everything that the page started.
      detached: true,
    });
    if (child.pid !== undefined) this.#groups.push(child.pid);
    const ended = new Promise<number | null>((done) => child.once("exit", done));
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { code: await ended, output: out + err };
  }

  /**
   * Stops at the first command that fails.
   * @param before commands that prepare what the page requires
   */
  async run(before: string): Promise<ShellRun> {
    const begun = await this.#shell("systemctl start portside > /dev/null");
    if (begun.code !== 0) return begun;
    const [ready = ""] = readFileSync(join(this.#folder, "serve.out"), "utf8").split("\n");
    this.#env["PORTSIDE_API_KEY"] = (JSON.parse(ready) as { api_key: string }).api_key;
    try {
      const blocks = this.blocks.map(({ where, code }) => `echo '## ${where}'\n${code}`);
      return await this.#shell([before, ...blocks].join("\n"));
    } finally {
      await this.#shell("systemctl stop portside");
    }
  }

  [Symbol.dispose](): void {
    for (const group of this.#groups)
      try {
        process.kill(-group, "SIGKILL");
      } catch {
        // Every process of the page has ended.
      }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
