/**
 * The configuration of the local provider. `docs/reference/configuration.md` and the CLI help are generated from it.
 */
import { z } from "zod";
import { accountLimits, GiB } from "../../core/domain/accounts/limits.ts";
import { idleModes } from "../../core/domain/deploy/idle.ts";
import { releasesKept } from "../shared/deploy/releases-kept.ts";
import { domainSettings } from "./domains/settings.ts";
import { readDomain } from "./ingress/domain.ts";
import { readUidRange } from "./sandbox/users/uid-range.ts";

const portNumber = z.int().min(0).max(65_535);
const port = (initial: number, description: string) => portNumber.default(initial).describe(description);
const seconds = (initial: number, description: string) => z.number().positive().default(initial).describe(description);

export const localConfigSchema = z
  .strictObject({
    dataDir: z.string().min(1).describe("Folder for all data of the platform; one server at a time may use it"),
    acceptState: z
      .boolean()
      .default(false)
      .describe("Start even if the state is missing, empty, outdated or changed by another program"),
    host: z.string().default("127.0.0.1").describe("Address to listen on, for the API and for services"),
    ingressPort: port(
      8080,
      "Port shared by all services; the host name selects the service. 0 picks a free port and reuses it at the next start",
    ),
    servicePorts: z
      .record(z.string(), z.int().min(1).max(65_535))
      .default({})
      .describe("Fixed ports for services, by service name"),
    domain: z
      .string()
      .refine(
        (text) => readDomain(text) !== undefined,
        "must be a host name, such as apps.example.com, or the URL of a reverse proxy, such as https://apps.example.com",
      )
      .optional()
      .describe(
        "Domain for additional service URLs of the form NAME.DOMAIN. Write https://DOMAIN if a reverse proxy terminates TLS",
      ),
    tlsPort: portNumber
      .optional()
      .describe(
        "Port of HTTPS for all services; 0 picks a free port and reuses it at the next start. If unset, Portside does not terminate TLS",
      ),
    httpPort: portNumber
      .optional()
      .describe(
        "Port that redirects HTTP to HTTPS and answers validations by certificate authorities. Requires --tls-port",
      ),
    tlsHost: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Address to listen on for --tls-port and --http-port, such as 0.0.0.0, if the ports without TLS must stay on the loopback addresses (default: the address of --host)",
      ),
    tlsCert: z
      .string()
      .min(1)
      .optional()
      .describe(
        "File with the certificate chain in PEM, such as a wildcard certificate of --domain. Portside reloads it when it changes",
      ),
    tlsKey: z.string().min(1).optional().describe("File with the private key of --tls-cert in PEM"),
    tlsConnectionsPerSecond: z
      .int()
      .min(0)
      .default(100)
      .describe(
        "Maximum TLS connections per second that each client address may open, after a burst of twice as many; 0 for no limit. The addresses of an IPv6 /64 network count as one",
      ),
    hstsMaxAge: z
      .int()
      .min(0)
      .default(0)
      .describe(
        "Seconds for which browsers must use HTTPS for a host that they have visited (HSTS); 0 omits the header",
      ),
    ...domainSettings,
    runner: z
      .enum(["auto", "container", "bubblewrap", "process"])
      .default("auto")
      .describe("How to run sources without a Dockerfile; `auto` chooses the best available runner"),
    uidRange: z
      .string()
      .superRefine((text, context) => {
        const range = readUidRange(text);
        if (typeof range === "string") context.addIssue({ code: "custom", message: range });
      })
      .default("2100000000-2100999999")
      .describe(
        "Range of user IDs, as FROM-TO. If started as root, Portside runs the services of each account under a separate user ID",
      ),
    allowHostPort: z
      .array(z.int().min(1).max(65_535))
      .default([])
      .describe(
        "Loopback port that sandboxed services may connect to, such as 5432 for a database on this machine. Builds may also pull base images from a registry on this port (repeatable)",
      ),
    maxInstances: z
      .int()
      .min(1)
      .max(1000)
      .default(10)
      .describe("Maximum number of instances of a service that declares max_instances 0"),
    instancesPerAccount: z
      .int()
      .min(1)
      .default(accountLimits.instances)
      .describe("Maximum concurrent instances per account"),
    idle: z
      .enum(idleModes)
      .default("freeze")
      .describe(
        "What happens to idle instances of services that do not declare `idle`: `freeze` pauses them until the next request, `stop` stops them",
      ),
    idleSeconds: seconds(300, "Idle time after which an instance is frozen or stopped"),
    stopAfterSeconds: seconds(1800, "Idle time after which a frozen instance stops"),
    frozenMemory: z
      .int()
      .min(0)
      .optional()
      .describe(
        "Maximum memory of all frozen instances, in bytes; above it, Portside stops the instances that have been idle longest. Defaults to half of the machine's memory",
      ),
    releasesKept,
    queue: z.int().min(0).default(100).describe("Maximum requests per service that wait for an instance"),
    drainSeconds: seconds(30, "How long a replaced revision may take to finish its requests"),
    graceSeconds: seconds(10, "Time between SIGTERM and SIGKILL"),
    elsewhereSeconds: seconds(
      4,
      "How long a starting service may listen on a wrong port or address before its start fails",
    ),
    logRetentionDays: z.int().min(1).default(30).describe("How long to store log entries"),
    logMaxBytes: z.int().min(1_000_000).default(GiB).describe("Maximum log bytes per account"),
    secretsKeyFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        "File with the secrets key: 32 random bytes as base64 (default: secrets.key in the data folder). Portside creates the file if it is missing and no secrets are stored",
      ),
    priceList: z.string().min(1).optional().describe("JSON file with infrastructure prices"),
    buildMemory: z
      .int()
      .min(64_000_000)
      .default(4 * GiB)
      .describe("Maximum memory per build, in bytes"),
  })
  .superRefine(({ tlsPort, tlsHost, httpPort, tlsCert, tlsKey, acmeEmail }, context) => {
    const require = (field: string, value: unknown, by: string, needs: boolean) => {
      if (needs && value === undefined)
        context.addIssue({ code: "custom", path: [field], message: `must be set if ${by} is set` });
    };
    require("tlsPort", tlsPort, "--http-port", httpPort !== undefined);
    require("tlsPort", tlsPort, "--tls-host", tlsHost !== undefined);
    require("tlsPort", tlsPort, "--tls-cert", tlsCert !== undefined);
    require("tlsPort", tlsPort, "--acme-email", acmeEmail !== undefined);
    require("tlsCert", tlsCert, "--tls-key", tlsKey !== undefined);
    require("tlsKey", tlsKey, "--tls-cert", tlsCert !== undefined);
  });

export type LocalConfig = z.output<typeof localConfigSchema>;
export type LocalConfigInput = z.input<typeof localConfigSchema>;
