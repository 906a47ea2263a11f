/**
 * The subjects of contract suites, and how their cases run. Cases are data: vitest runs them against a provider that
 * must pass, and mutation tests run them directly against broken providers that must fail.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { type AnsweredCapabilities, type Capabilities, withFormerNames } from "../../core/domain/wire/capabilities.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { Identity, Provider } from "../../core/ports/provider.ts";

/** Sources that the provider's builder accepts, as bytes of a tar.gz. */
export interface ContractSources {
  /** A service that responds to every request with this text. */
  hello(text: string): Uint8Array;
  /** A service that exits immediately with this code. */
  exits(code: number): Uint8Array;
  /** A service that runs without listening. */
  silent(): Uint8Array;
  /**
   * A service that works on files: `GET /?path=` returns a file's text, `PUT /?path=` writes the body, and
   * `POST /?path=&to=` creates a symbolic link. Each responds with 200, or with 500 and the error's code. `GET /`
   * responds with 200. `GET /env?name=` returns a variable. `POST /cron` responds with 204, and `GET /fires` returns a
   * JSON array with the headers of all fires so far.
   */
  files(): Uint8Array;
  /** A source that only a container engine can build. */
  dockerfile(): Uint8Array;
}

/** An identity adapter under test. */
export interface IdentitySubject {
  readonly identity: Identity;
  /** Returns an account that no other case uses. */
  account(): AccountId;
}

/** A running provider under test. Cases share it, so each must use its own accounts and names. */
export interface ProviderSubject {
  readonly provider: Provider;
  readonly sources: ContractSources;
  /** Returns an account that no other case uses. */
  account(): AccountId;
  /** Returns a name that no other case uses. */
  name(): DeploymentName;
}

/** A provider under test for suites that run no services. */
export type StoreSubject = Omit<ProviderSubject, "sources">;

/** A provider under test whose storage survives `reopen`. */
export interface DurableSubject extends StoreSubject {
  /** The provider that was opened last. */
  readonly provider: Provider;
  /** Closes the provider and opens another one on the same storage. */
  reopen(): Promise<void>;
}

/** A started subject; `contractTests` closes it after the suite. */
export interface Started<S> {
  readonly subject: S;
  close(): Promise<void>;
}

/** One promise of a port, as a test. */
export interface ContractCase<S> {
  readonly group: string;
  readonly name: string;
  /** Whether the case applies to a provider with these capabilities; if absent, it applies to all. */
  readonly when?: (capabilities: AnsweredCapabilities) => boolean;
  readonly run: (subject: S) => Promise<void>;
}

/** Limits a loop over pages, so that an endless loop fails. No case needs this many pages. */
const MAX_PAGES = 10_000;

/** Returns a function that counts pages, and throws when there are too many. */
export const pageLimit = (what: string): (() => void) => {
  let left = MAX_PAGES;
  return () => {
    if (left-- <= 0) throw new Error(`${what} has more than ${MAX_PAGES} pages; it does not end.`);
  };
};

let counter = 0;

/** Creates `account` and `name` for a subject. A distinct `prefix` keeps the subjects of a process apart. */
export const freshNames = (prefix: string): Pick<ProviderSubject, "account" | "name"> => ({
  account: () => `${prefix}-account-${++counter}` as AccountId,
  name: () => `${prefix}-${++counter}` as DeploymentName,
});

/**
 * True if a case applies to a provider with these capabilities. Without capabilities, only unconditional cases apply.
 */
export const appliesTo = ({ when }: Pick<ContractCase<never>, "when">, capabilities?: Capabilities): boolean =>
  when === undefined || (capabilities !== undefined && when(withFormerNames(capabilities)));

/** Ends a hung case. vitest's own default is too short for a busy machine. */
const CASE_TIMEOUT_MS = 120_000;

/**
 * Registers a suite with vitest for one implementation. The declared capabilities select the cases that run. A suite
 * without cases fails.
 *
 * @param title the name of the implementation in the test report
 *
 * @param start creates the subject once, before all cases
 */
export const contractTests = <S>(
  title: string,
  cases: readonly ContractCase<S>[],
  start: () => Promise<Started<S>>,
  capabilities?: Capabilities,
): void => {
  const applies = cases.filter((one) => appliesTo(one, capabilities));
  describe(title, () => {
    let started: Started<S> | undefined;
    beforeAll(async () => {
      started = await start();
    });
    afterAll(() => started?.close());
    test("has cases", () => expect(applies.length).toBeGreaterThan(0));
    for (const { group, name, run } of applies)
      test(`${group}: ${name}`, { timeout: CASE_TIMEOUT_MS }, () => run((started as Started<S>).subject));
  });
};
