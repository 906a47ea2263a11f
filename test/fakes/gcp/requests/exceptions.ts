/** Requests that a document forbids but the service allows, each with the reason. Pure. */

interface Exception {
  readonly method: string;
  /** The start of the problem, without indexes. */
  readonly problem: string;
  readonly reason: string;
}

const WRITE = "gRPC /google.logging.v2.LoggingServiceV2/WriteLogEntries";

const exceptions: readonly Exception[] = [
  {
    method: WRITE,
    problem: "entries[].logName: missing",
    reason: "`log_name` of the request is the default of its entries: google/logging/v2/logging.proto",
  },
  {
    method: WRITE,
    problem: "entries[].resource: missing",
    reason: "`resource` of the request is the default of its entries: google/logging/v2/logging.proto",
  },
];

/** Returns the problems without the excepted ones. */
export const withoutExceptions = (method: string, problems: readonly string[]): readonly string[] =>
  problems.filter((problem) => {
    const plain = problem.replaceAll(/\[\d+\]/g, "[]");
    return !exceptions.some((one) => one.method === method && plain.startsWith(one.problem));
  });
