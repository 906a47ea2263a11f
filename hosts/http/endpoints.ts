/** Every endpoint of the contract, as data. The routes and the OpenAPI document derive from this table. */
import { accountEndpoints } from "./accounts/endpoints.ts";
import { sessionEndpoints } from "./accounts/session-endpoints.ts";
import { deployEndpoints } from "./deploy/deploy-endpoints.ts";
import { deploymentEndpoints } from "./deploy/deployment-endpoints.ts";
import { releaseEndpoints } from "./deploy/release-endpoints.ts";
import { domainEndpoints } from "./domains/endpoints.ts";
import type { Endpoint } from "./endpoint.ts";
import { logEndpoints } from "./logs/endpoints.ts";
import { secretEndpoints } from "./secrets/endpoints.ts";
import { sqlEndpoints } from "./sql/endpoints.ts";
import { usageEndpoints } from "./usage/endpoints.ts";
import { volumeEndpoints } from "./volumes/endpoints.ts";

export {
  type Endpoint,
  isOfConsole,
  isStream,
  type JsonEndpoint,
  locationOf,
  needsCredential,
  takesForm,
} from "./endpoint.ts";

interface EndpointGroup {
  readonly name: string;
  readonly description: string;
  readonly endpoints: readonly Endpoint[];
}

const groups = [
  { name: "Deploys", description: "Start, plan, list, follow and cancel deploys.", endpoints: deployEndpoints },
  {
    name: "Deployments",
    description: "The services of your account and their logs.",
    endpoints: [...deploymentEndpoints, ...logEndpoints],
  },
  {
    name: "Releases",
    description: "The earlier versions of your deployments, rollbacks to them, and other redeploys.",
    endpoints: releaseEndpoints,
  },
  {
    name: "Volumes",
    description: "Storage of your account. Clients transfer objects through signed URLs, not through this API.",
    endpoints: volumeEndpoints,
  },
  {
    name: "Secrets",
    description: "Values that variables of your deployments refer to, such as passwords. No response contains them.",
    endpoints: secretEndpoints,
  },
  {
    name: "Domains",
    description: "Your own domains, which send requests to your deployments.",
    endpoints: domainEndpoints,
  },
  { name: "SQL", description: "SQL over logs and billing.", endpoints: sqlEndpoints },
  {
    name: "Account",
    description: "Credentials, quotas, costs and the subscription.",
    endpoints: [...usageEndpoints, ...accountEndpoints],
  },
  {
    name: "Console",
    description: "Sign in to the web page of the platform. A host may turn the console off.",
    endpoints: sessionEndpoints,
  },
] as const satisfies readonly EndpointGroup[];

/** The type of each endpoint, from which the types of `portside/client` derive. */
export type KnownEndpoint = (typeof groups)[number]["endpoints"][number];

export const endpointGroups: readonly EndpointGroup[] = groups;

export const endpoints: readonly Endpoint[] = endpointGroups.flatMap((group) => group.endpoints);
