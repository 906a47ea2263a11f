/** Validates a service as Cloud Run does, from the comments of its protos and its documentation. */
import { parseMemory } from "../../../../core/domain/deploy/resources.ts";
import type { AdverseBehaviors } from "../adverse.ts";
import { GrpcError, type Message } from "../grpc.ts";

const invalid = (message: string): never => {
  throw new GrpcError("INVALID_ARGUMENT", message);
};

/** "It must begin with letter, and cannot end with hyphen; must contain fewer than 50 characters": service.proto. */
export const checkServiceId = (id: string): void => {
  if (!/^[a-z]([a-z0-9-]{0,47}[a-z0-9])?$/.test(id)) invalid(`service_id: '${id}' is not a valid service id`);
};

/** "Cloud Run API v2 does not support [these] namespaces, and they will be rejected": service.proto. */
const FORBIDDEN = /^(run\.googleapis\.com|cloud\.googleapis\.com|serving\.knative\.dev|autoscaling\.knative\.dev)\//;

const GiB = 1024 ** 3;
const MiB = 1024 ** 2;
/** Minimum and maximum memory by CPU: docs/configuring/services/cpu and .../memory-limits. */
const sizes: Readonly<Record<string, readonly [number, number]>> = {
  "1": [128 * MiB, 4 * GiB],
  "2": [128 * MiB, 8 * GiB],
  "4": [2 * GiB, 16 * GiB],
  "6": [4 * GiB, 24 * GiB],
  "8": [4 * GiB, 32 * GiB],
};

const checkMap = (field: string, map: Readonly<Record<string, string>> = {}): void => {
  for (const key of Object.keys(map)) if (FORBIDDEN.test(key)) invalid(`${field}: '${key}' is reserved`);
};

/** Kubernetes' limit for all annotations together, which Cloud Run's annotations share (service.proto): 256 KiB. */
const ANNOTATION_BYTES = 256 * 1024;

const checkAnnotations = (field: string, annotations: Readonly<Record<string, string>> = {}): void => {
  checkMap(field, annotations);
  const bytes = Buffer.byteLength(Object.entries(annotations).flat().join(""));
  if (bytes > ANNOTATION_BYTES) invalid(`${field}: ${bytes} bytes`);
};

/** Memory with less than one CPU: docs/configuring/services/cpu. */
const smallSize = (cpu: number): readonly [number, number] | undefined => {
  if (!(cpu >= 0.08 && cpu < 1)) return undefined;
  return [128 * MiB, cpu < 0.5 ? 512 * MiB : GiB];
};

/** "If you use less than 1 vCPU, the following requirements are enforced": docs/configuring/services/cpu. */
const checkSmall = (
  { resources }: Message,
  { executionEnvironment, maxInstanceRequestConcurrency, volumes = [] }: Message,
): void => {
  if (maxInstanceRequestConcurrency !== 1) invalid("max_instance_request_concurrency: must be 1 with less than 1 CPU");
  if (resources?.cpuIdle === false) invalid("resources.cpu_idle: must be true with less than 1 CPU");
  if (executionEnvironment === "EXECUTION_ENVIRONMENT_GEN2" || volumes.some(({ gcs }: Message) => gcs != null))
    invalid("execution_environment: must be the first generation with less than 1 CPU");
};

const checkResources = (container: Message, template: Message): void => {
  const { resources } = container;
  const { executionEnvironment } = template;
  const { cpu = "1", memory: quantity = "512Mi" } = resources?.limits ?? {};
  const small = smallSize(Number(cpu));
  if (small !== undefined) checkSmall(container, template);
  const range = sizes[cpu] ?? small ?? invalid(`resources.limits.cpu: '${cpu}' is not available`);
  const memory = parseMemory(quantity) ?? invalid("resources.limits.memory: is not a quantity");
  if (memory < range[0] || memory > range[1]) invalid(`resources.limits.memory: is not available with ${cpu} CPU`);
  // "512 MiB for second generation": docs/configuring/services/memory-limits.
  if (executionEnvironment === "EXECUTION_ENVIRONMENT_GEN2" && memory < 512 * MiB)
    invalid("resources.limits.memory: the second generation has at least 512Mi");
};

/**
 * Ranges from k8s.min.proto: the period is at least the timeout, and at most 240 s at the start and 3600 s afterwards.
 * "HTTP startup" and "HTTP liveness" require HTTP/1: docs/configuring/healthchecks.
 */
const checkProbe = (field: string, probe: Message | null | undefined, max: number, isHttp2: boolean): void => {
  if (probe == null) return;
  const { httpGet, tcpSocket, grpc } = probe;
  const [timeout, period] = [probe.timeoutSeconds || 1, probe.periodSeconds || 10];
  if (timeout < 1 || timeout > period || period > max || probe.failureThreshold < 0) invalid(`${field}: times`);
  if ([httpGet, tcpSocket, grpc].filter((one) => one != null).length !== 1) invalid(`${field}: one type is required`);
  if (httpGet != null && isHttp2) invalid(`${field}.http_get: requires HTTP/1`);
  if (httpGet?.path && !httpGet.path.startsWith("/")) invalid(`${field}.http_get.path: must begin with '/'`);
};

const checkPorts = (container: Message, adverse: AdverseBehaviors): void => {
  const { ports = [], startupProbe: probe, livenessProbe } = container;
  if (ports.length > 1) invalid("ports: only a single port can be specified");
  if (!["", "http1", "h2c"].includes(ports[0]?.name ?? "")) invalid("ports[0].name: http1 or h2c");
  const isHttp2 = ports[0]?.name === "h2c";
  checkProbe("startup_probe", probe, 240, isHttp2);
  checkProbe("liveness_probe", livenessProbe, 3600, isHttp2);
  if (livenessProbe?.tcpSocket != null) invalid("liveness_probe.tcp_socket: is not available");
  const seconds = probe ? probe.periodSeconds * probe.failureThreshold : 0;
  const limit = adverse.has("probe_product_240") ? 240 : 600;
  if (seconds > limit)
    invalid(`startup_probe: failure_threshold * period_seconds is ${seconds}, and may be at most ${limit}`);
};

const checkMounts = ({ volumeMounts = [] }: Message, { volumes = [] }: Message): void => {
  const names = volumes.map((volume: Message) => volume.name);
  for (const { name, mountPath } of volumeMounts) {
    if (!names.includes(name)) invalid(`volume_mounts: there is no volume '${name}'`);
    // "Must not contain ':'": k8s.min.proto; "Disallowed paths": docs/configuring/services/cloud-storage-volume-mounts.
    if (mountPath.includes(":") || /^\/(dev|proc|sys)(\/|$)/.test(mountPath)) invalid(`mount_path: '${mountPath}'`);
  }
};

const checkEnvironment = ({ env = [] }: Message): void => {
  for (const { name, value } of env) {
    // "Reserved environment variables": docs/configuring/services/environment-variables.
    if (name === "PORT" || /^K_(SERVICE|REVISION|CONFIGURATION)$/.test(name)) invalid(`env: '${name}' is reserved`);
    if (Buffer.byteLength(value ?? "") > 32_768) invalid(`env: '${name}' is too long`);
  }
};

const checkContainer = (container: Message, template: Message, adverse: AdverseBehaviors): void => {
  if (!container.image) invalid("template.containers[0].image: is required");
  checkResources(container, template);
  checkPorts(container, adverse);
  checkMounts(container, template);
  checkEnvironment(container);
};

const checkTraffic = (traffic: readonly Message[], revisions: ReadonlySet<string>): void => {
  if (traffic.length === 0) return;
  const sum = traffic.reduce((total, { percent }) => total + Number(percent ?? 0), 0);
  if (sum !== 100) invalid(`traffic: percents sum to ${sum}`);
  for (const { type, revision } of traffic)
    if (type === "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION" && !revisions.has(revision))
      invalid(`traffic: there is no revision '${revision}'`);
};

/** @param revisions names of all revisions, including this write's new one */
export const checkService = (
  id: string,
  service: Message,
  revisions: ReadonlySet<string>,
  adverse: AdverseBehaviors,
): void => {
  checkMap("labels", service.labels);
  checkAnnotations("annotations", service.annotations);
  checkAnnotations("template.annotations", service.template?.annotations);
  // https://cloud.google.com/resource-manager/docs/creating-managing-labels#requirements
  for (const [key, value] of Object.entries<string>(service.labels ?? {}))
    if (!/^[a-z][a-z0-9_-]{0,62}$/.test(key) || !/^[a-z0-9_-]{0,63}$/.test(value)) invalid(`labels: '${key}'`);
  const template = service.template ?? invalid("template: is required");
  const { revision } = template;
  // https://github.com/pipe-cd/pipecd/issues/5688 quotes the service's message; the prefix is Knative's rule.
  if (revision && (!/^[a-z][a-z0-9-]{0,61}[a-z0-9]$/.test(revision) || !revision.startsWith(`${id}-`)))
    invalid(`template.revision: '${revision}'`);
  const concurrency = Number(template.maxInstanceRequestConcurrency ?? 0);
  if (concurrency < 0 || concurrency > 1000) invalid("max_instance_request_concurrency: 0 to 1000");
  const timeout = Number(template.timeout?.seconds ?? 300);
  if (timeout < 0 || timeout > 3600) invalid("timeout: up to 3600 s");
  const [container] = template.containers ?? [];
  checkContainer(container ?? invalid("template.containers: one is required"), template, adverse);
  checkTraffic(service.traffic ?? [], revisions);
};

/** Quotas of a region: thousandths of a CPU, and bytes of memory. */
export interface RegionQuota {
  readonly cpu: number;
  readonly memory: number;
}

/**
 * "regional CPU quota divided by the CPU configuration for the service", and the same for memory:
 * docs.cloud.google.com/run/docs/configuring/max-instances-limits. Without a declared maximum, Cloud Run takes what the
 * quota allows. https://github.com/googlecodelabs/feedback/issues/1856 quotes the text.
 */
export const checkQuota = ({ template }: Message, { cpu, memory }: RegionQuota): void => {
  const instances = Number(template.scaling?.maxInstanceCount ?? 0);
  const { cpu: cpus = "1", memory: quantity = "512Mi" } = template.containers[0].resources?.limits ?? {};
  const sizes = [
    ["Cpu", "CPU", Number(cpus) * 1000, cpu],
    ["Mem", "memory", parseMemory(quantity) ?? 0, memory],
  ] as const;
  const violated = sizes.filter(([, , size, allowed]) => instances * size > allowed);
  const [first] = violated;
  if (first === undefined) return;
  const most = Math.min(...violated.map(([, , size, allowed]) => Math.floor(allowed / size)));
  const quotas = violated.map(
    ([name, , size, allowed]) => `${name}AllocPerProjectRegion requested: ${instances * size} allowed: ${allowed}`,
  );
  invalid(
    `template.scaling.max_instance_count: Max instances must be set to ${most} or fewer to set the requested total ${first[1]}.\n` +
      `Consider running your workload in a region with greater capacity.\n\nQuota violated:\n${quotas.join("\n")}`,
  );
};
