/**
 * Prints a build's output line by line, and determines from the output why a build failed.
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Image/operation/ImageBuild
 */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { EmitProgress } from "../../../shared/runtime/channel.ts";

/** A line of the container engine's JSON response. */
export interface BuildItem {
  readonly stream?: string;
  readonly status?: string;
  readonly id?: string;
  readonly error?: string;
  readonly errorDetail?: { readonly code?: number; readonly message?: string };
}

const TAIL = 20;
const STEP = /^(?:Step|STEP) \d+\/\d+ ?: /;
/** Lines that name layers and temporary containers. Portside does not print these lines. */
const NOISE = /^ ---> |^Removing intermediate container |^Successfully (?:built|tagged) /;
/** The step that adds the platform's labels to the image. */
const OWN_STEP = /^LABEL portside\./;

/** Longer messages are truncated before matching, to bound the running time of the regular expressions. */
const MAX_LENGTH = 2000;

const UNREACHABLE =
  /x509|dial tcp|no such host|lookup .* on|i\/o timeout|connection refused|TLS handshake|network is unreachable|proxyconnect/i;
const NOT_FOUND =
  /pull access denied|manifest.*(?:unknown|not found)|not found: manifest|repository does not exist|requested access to the resource is denied|unauthorized/i;

/** Explains the container engine's message about a base image; undefined if the message is unknown. */
export const explainBaseImageError = (whole: string): string | undefined => {
  const problem = whole.slice(0, MAX_LENGTH);
  if (UNREACHABLE.test(problem))
    return "A base image is not on the platform's machine, and its registry is unreachable. Pull the image on a machine with network access and import it (docker load).";
  if (NOT_FOUND.test(problem))
    return "A base image is not on the platform's machine, and its registry does not have it or requires a login. Check the image name in FROM.";
  return undefined;
};

export class BuildOutput {
  readonly #print: EmitProgress<string>;
  readonly #tail: string[] = [];
  #step = "";
  #rest = "";
  #held: Promise<void> | undefined;
  #problem: { readonly message: string; readonly code: number | undefined } | undefined;

  constructor(print: EmitProgress<string>) {
    this.#print = print;
  }

  /** The caller must wait for a returned promise before it passes more output. */
  take({ stream, status, id, error, errorDetail }: BuildItem): Promise<void> | undefined {
    this.#held = undefined;
    if (stream !== undefined) this.#lines(stream);
    // Skips the progress of individual layers, which arrives many times per second.
    else if (status !== undefined && (id === undefined || /^(?:Pulling from|Pull complete)/.test(status)))
      this.#line(id === undefined ? status : `${id}: ${status}`);
    const message = errorDetail?.message ?? error;
    if (message !== undefined) this.#problem = { message, code: errorDetail?.code };
    return this.#held;
  }

  /** The last printed line. */
  get last(): string {
    return this.#tail.at(-1) ?? "";
  }

  /** Ends the output. Returns the failure of the build; undefined if the build succeeded. */
  end(): DeployFailure | undefined {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
    if (this.#problem === undefined) return undefined;
    const { message, code } = this.#problem;
    const failed = /returned a non-zero code: (\d+)/.exec(message) ?? /exit (?:status|code:) (\d+)/.exec(message);
    const exitCode = code ?? (failed === null ? undefined : Number(failed[1]));
    return {
      reason: "build_failed",
      // The output of a failed command is arbitrary, so do not match it.
      message:
        (exitCode === undefined ? explainBaseImageError(message) : undefined) ?? this.#describe(message, exitCode),
      ...(exitCode === undefined ? {} : { exitCode }),
      logTail: [...this.#tail, message],
    };
  }

  #describe(message: string, exitCode: number | undefined): string {
    const step = this.#step.slice(0, 200);
    if (exitCode !== undefined && step !== "") return `'${step}' ended with exit code ${exitCode}.`;
    return step === "" ? `The image could not be built: ${message}` : `'${step}' failed: ${message}`;
  }

  #lines(text: string): void {
    const lines = (this.#rest + text).split(/\r?\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") this.#line(line);
  }

  #line(line: string): void {
    if (STEP.test(line)) this.#step = line.replace(STEP, "").trim();
    if (NOISE.test(line) || OWN_STEP.test(this.#step)) return;
    this.#tail.push(line);
    if (this.#tail.length > TAIL) this.#tail.shift();
    this.#held = this.#print(line) ?? this.#held;
  }
}
