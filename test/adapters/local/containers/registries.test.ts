/** Registries that only this machine can reach. */
import { BlockList } from "node:net";
import { expect, test } from "vitest";
import {
  readHostAddresses,
  registryBlockedReason,
  registryOf,
} from "../../../../adapters/local/containers/build/registries.ts";

const own = new BlockList();
own.addAddress("192.0.2.7");
const addresses = { own, inner: readHostAddresses().inner };

const why = (image: string, found: readonly string[], allowed: readonly number[] = []) => {
  const registry = registryOf(image);
  if (registry === undefined) return undefined;
  return registryBlockedReason(
    registry,
    found,
    { ...addresses, own: found.includes("192.0.2.7") ? own : readHostAddresses().own },
    allowed,
  );
};

test.each(["node", "node:24", "library/node:24", "localhost:5000", "user/127.0.0.1", "deed@sha256:00ff"])(
  "%s is in the engine's default registry",
  (image) => expect(registryOf(image)).toBeUndefined(),
);

test.each([
  ["localhost/x", []],
  ["a.localhost:5000/x", []],
  ["LOCALHOST:5000/x", []],
  ["127.0.0.1:5000/x", []],
  ["127.9.9.9/x", []],
  ["[::1]:5000/x", []],
  ["[::ffff:127.0.0.1]:5000/x", []],
  ["loopback.example:5000/x", ["127.0.0.1"]],
  ["mixed.example:5000/x", ["198.51.100.1", "::1"]],
  ["own.example:5000/x", ["192.0.2.7"]],
])("blocks %s at %j, and names --allow-host-port", (image, found) =>
  expect(why(image, found)).toContain("--allow-host-port"),
);

test.each([
  ["169.254.169.254/x", []],
  ["metadata.example:80/x", ["169.254.169.254"]],
  ["[fe80::1]:5000/x", []],
  ["[fd00:ec2::254]/x", []],
  ["[::ffff:169.254.169.254]/x", []],
])("blocks %s at %j, whatever ports are open", (image, found) => {
  expect(why(image, found, [80, 443, 5000])).toContain("only the server's machine can reach");
});

test.each([
  ["localhost:5000/x", [], [5000]],
  ["own.example:5000/x", ["192.0.2.7"], [80, 5000]],
  ["ghcr.io/x", ["198.51.100.1"], []],
  ["10.0.0.5:5000/x", [], []],
  ["unknown.example/x", [], []],
])("allows %s at %j with open ports %j", (image, found, allowed) => {
  expect(why(image, found, allowed)).toBeUndefined();
});
