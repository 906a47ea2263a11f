/** How the local engine is set up; `docs/reference/configuration.md` and the command line's help are made from it. */
import { z } from "zod";
import { accountLimits, GiB } from "../../core/domain/accounts/limits.ts";
import { readDomain } from "./ingress/domain.ts";
import { readUidRange } from "./sandbox/users/uid-range.ts";

const port = (preset: number, description: string) => z.int().min(0).max(65_535).default(preset).describe(description);
const seconds = (preset: number, description: string) => z.number().positive().default(preset).describe(description);

export const localConfigSchema = z.strictObject({
  dataDir: z.string().min(1).describe("The folder that holds everything; one server at a time."),
  acceptState: z
    .boolean()
    .default(false)
    .describe("Start with the state as it is if it is empty or older than the other data of the folder."),
  host: z.string().default("127.0.0.1").describe("The address that services are reached at."),
  ingressPort: port(8080, "The port that all services share by host name; 0 for any, remembered."),
  servicePorts: z
    .record(z.string(), z.int().min(1).max(65_535))
    .default({})
    .describe("Ports of services by name, where they should not be any."),
  domain: z
    .string()
    .refine(
      (text) => readDomain(text) !== undefined,
      "must be a host name, such as apps.example.com, or the URL that a proxy in front has, such as https://apps.example.com",
    )
    .optional()
    .describe("Services answer at NAME.DOMAIN too; https://DOMAIN where a proxy in front has its certificate."),
  runner: z
    .enum(["auto", "container", "bubblewrap", "process"])
    .default("auto")
    .describe("How sources without a Dockerfile run; auto takes the best that works."),
  uidRange: z
    .string()
    .superRefine((text, context) => {
      const range = readUidRange(text);
      if (typeof range === "string") context.addIssue({ code: "custom", message: range });
    })
    .default("2100000000-2100999999")
    .describe("Uids for accounts, FROM-TO. As root, Portside runs the services of each account as a separate user."),
  allowHostPort: z
    .array(z.int().min(1).max(65_535))
    .default([])
    .describe(
      "A port of this machine's loopback that sandboxed services may call, such as 5432 for a database, and at which base images may have a registry; may be given again.",
    ),
  maxInstances: z.int().min(1).max(1000).default(10).describe("What max_instances 0 means."),
  instancesPerAccount: z.int().min(1).default(accountLimits.instances).describe("Instances of one account at once."),
  idleSeconds: seconds(300, "How long an instance is idle before it is stopped."),
  queue: z.int().min(0).default(100).describe("Requests of one service that may wait for a place."),
  drainSeconds: seconds(30, "How long requests may go on in a revision that was replaced."),
  graceSeconds: seconds(10, "Between SIGTERM and SIGKILL."),
  elsewhereSeconds: seconds(4, "How long a starting service may listen elsewhere than on PORT."),
  logRetentionDays: z.int().min(1).default(30).describe("How long log entries are kept."),
  logMaxBytes: z.int().min(1_000_000).default(GiB).describe("Log bytes kept an account."),
  priceList: z.string().min(1).optional().describe("A file with the prices of infrastructure, as JSON."),
  buildMemory: z
    .int()
    .min(64_000_000)
    .default(4 * GiB)
    .describe("Bytes of memory for one build."),
});

export type LocalConfig = z.output<typeof localConfigSchema>;
export type LocalConfigInput = z.input<typeof localConfigSchema>;
