/** The company's rules for production. */
import { adjust, formatMemory, type Policy, veto } from "portside";

const MiB = 1024 ** 2;
export const leastMemory = 512 * MiB;
export const mostInstances = 10;

const isProd = (name: string): boolean => name.startsWith("prod-");

export const prodMemory: Policy = {
  name: "production needs 512Mi of memory",
  judge: ({ declaration: { name, memory } }) =>
    isProd(name) && memory < leastMemory
      ? [veto("memory", `must be at least 512Mi for prod- deployments, not ${formatMemory(memory)}`)]
      : [],
};

/** The first version, which has a bug: 0 means the platform's own maximum, which may be more than ten. */
export const prodInstancesAtFirst: Policy = {
  name: "production has at most ten instances",
  judge: ({ declaration: { writtenName, maxInstances } }) =>
    isProd(writtenName) && maxInstances > mostInstances
      ? [
          adjust(
            "maxInstances",
            mostInstances,
            `Instances lowered from ${maxInstances} to ${mostInstances}: prod- deployments have at most ten`,
          ),
        ]
      : [],
};

export const prodInstances: Policy = {
  name: "production has at most ten instances",
  judge: ({ declaration: { name, maxInstances } }) =>
    isProd(name) && (maxInstances === 0 || maxInstances > mostInstances)
      ? [
          adjust(
            "maxInstances",
            mostInstances,
            maxInstances === 0
              ? `Instances set to ${mostInstances}: prod- deployments have at most ten, and the platform's own limit may be higher`
              : `Instances lowered from ${maxInstances} to ${mostInstances}: prod- deployments have at most ten`,
          ),
        ]
      : [],
};

export const policies: readonly Policy[] = [prodMemory, prodInstances];
