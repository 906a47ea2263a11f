/** Mutation tests of the contract suites of volumes and schedules: each group rejects a broken implementation. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { comparePaths, type ObjectPath } from "../../core/domain/volumes/object-path.ts";
import { plusMillis, type Timestamp } from "../../core/domain/wire/instant.ts";
import { notFound } from "../../core/errors.ts";
import type { Scheduler } from "../../core/ports/scheduler.ts";
import type { Grant, StoredVolume, UploadsInParts, VolumeStore } from "../../core/ports/volume-store.ts";
import { errAsync, okAsync, ResultAsync } from "../../core/result.ts";
import {
  type ProviderSubject,
  schedulerCases,
  volumeObjectCases,
  volumeStoreCases,
  volumeUploadCases,
} from "../contracts/index.ts";
import { type Mutants, mutantTests, subjectWith } from "../support/vitest/mutants.ts";

const volumes = (change: (port: VolumeStore) => Partial<VolumeStore>) => () =>
  subjectWith((provider) => ({ volumes: { ...provider.volumes, ...change(provider.volumes) } }));
const scheduler = (change: (port: Scheduler) => Partial<Scheduler>) => () =>
  subjectWith((provider) => ({ scheduler: { ...provider.scheduler, ...change(provider.scheduler) } }));

const shared = "shared" as AccountId;
const done = () => okAsync(undefined);

const storeMutants: Mutants<ProviderSubject> = {
  volumes: {
    "store that always reports a new volume": volumes((port) => ({
      create: (...args) => port.create(...args).map((made) => ({ ...made, created: true })),
    })),
    "store that ignores the account": volumes((port) => ({
      create: (_owner, ...rest) => port.create(shared, ...rest),
      find: (_owner, ...rest) => port.find(shared, ...rest),
      list: () => port.list(shared),
    })),
    "store that does not report other accounts' volumes": volumes((port) => ({
      find: (...args) => port.find(...args).map((state) => (state.kind === "other_account" ? { kind: "free" } : state)),
    })),
    "store that lists the last one first": volumes((port) => ({
      list: (...args) => port.list(...args).map((all) => all.toReversed()),
    })),
  },
  "hide and show": {
    "store that does not hide": volumes(() => ({ beginDelete: done })),
    "store that does not show again": volumes(() => ({ abortDelete: done })),
    "store that hides by name": volumes((port) => ({
      beginDelete: ({ owner, name, ...volume }, options) =>
        port
          .find(owner, name)
          .andThen((state) =>
            port.beginDelete(state.kind === "held" ? state.volume : { owner, name, ...volume }, options),
          ),
    })),
  },
  "trash and restore": {
    "store that deletes nothing": volumes((port) => ({ moveToTrash: (volume) => port.abortDelete(volume) })),
    "store that deletes at the wrong time": volumes((port) => ({
      moveToTrash: (volume, _deletedAt, options) =>
        port.moveToTrash(volume, "2001-01-01T00:00:00.000+00:00" as Timestamp, options),
    })),
    "store that gives a name its old bucket": volumes((port) => ({
      create: (owner, name, options) =>
        port.trash(owner).andThen((all) => {
          const old = all.find((one) => one.name === name);
          return old === undefined
            ? port.create(owner, name, options)
            : port
                .restore(owner, old.id)
                .map((volume) => ({ volume, created: true }))
                .mapErr(() => ({ kind: "conflict" as const, message: "A volume of that name lives." }));
        }),
    })),
    "store that restores for any account": volumes((port) => {
      const owners = new Map<string, AccountId>();
      return {
        create: (owner, ...rest) =>
          port.create(owner, ...rest).map((made) => {
            owners.set(made.volume.id, owner);
            return made;
          }),
        restore: (_owner, id, options) => port.restore(owners.get(id) ?? shared, id, options),
      };
    }),
  },
};

/** A static file host without ranges and conditions, which answers HEAD like GET. */
const plainHost = async (): Promise<string> => {
  const files = new Map<string, Buffer>();
  const server = createServer(async (req, res) => {
    const body = Buffer.concat(await Array.fromAsync(req as AsyncIterable<Buffer>));
    if (req.method === "PUT") files.set(req.url ?? "", body);
    res.writeHead(200, { etag: '"always"', "content-type": "application/json" });
    res.end(req.method === "PUT" ? "" : files.get(req.url ?? ""));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve).unref());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
};

const onPlainHost = () => {
  const base = plainHost();
  const grant: VolumeStore["grantUpload"] = ({ id }, path, until) =>
    ResultAsync.fromSafePromise(base).map((url) => ({ url: `${url}${id}/${path}`, expiresAt: until }));
  return { grantUpload: grant, grantDownload: grant };
};

/** Changes the headers of a response to a request with this method. */
type HeaderChange = (headers: Headers, method: string, status: number) => void;

const forward = async ({ method = "GET", headers, url }: IncomingMessage, body: Buffer, to: string) => {
  const { host, connection, "content-length": _length, ...rest } = headers;
  const sent = body.length === 0 ? {} : { body: new Uint8Array(body) };
  return fetch(to + url, { method, headers: rest as Record<string, string>, ...sent });
};

/** Storage behind a proxy that changes the headers of responses. */
const behindProxy = (change: HeaderChange) => {
  const to = Promise.withResolvers<string>();
  const server = createServer(async (req, res) => {
    const body = Buffer.concat(await Array.fromAsync(req as AsyncIterable<Buffer>));
    const response = await forward(req, body, await to.promise);
    const headers = new Headers(response.headers);
    change(headers, req.method ?? "", response.status);
    res.setHeaders(headers).writeHead(response.status);
    res.end(Buffer.from(await response.arrayBuffer()));
  });
  const listening = new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve).unref());
  const moved = (grant: Grant): Grant => {
    const { origin, pathname, search } = new URL(grant.url);
    to.resolve(origin);
    const { port } = server.address() as AddressInfo;
    return { ...grant, url: `http://127.0.0.1:${port}${pathname}${search}` };
  };
  return volumes((port) => ({
    grantUpload: (...args) =>
      ResultAsync.fromSafePromise(listening).andThen(() => port.grantUpload(...args).map(moved)),
    grantDownload: (...args) =>
      ResultAsync.fromSafePromise(listening).andThen(() => port.grantDownload(...args).map(moved)),
  }));
};

const ALLOW_ORIGIN = "access-control-allow-origin";

const objectMutants: Mutants<ProviderSubject> = {
  "put and get": {
    "store that encodes names twice": volumes((port) => ({
      grantUpload: (volume, path, ...rest) =>
        port.grantUpload(volume, encodeURIComponent(path).slice(0, 255) as ObjectPath, ...rest),
    })),
    "store that folds the case of names": volumes((port) => ({
      grantUpload: (volume, path, ...rest) => port.grantUpload(volume, path.toLowerCase() as ObjectPath, ...rest),
      grantDownload: (volume, path, ...rest) => port.grantDownload(volume, path.toLowerCase() as ObjectPath, ...rest),
    })),
    "store that gets the size wrong": volumes((port) => ({
      stat: (...args) => port.stat(...args).map((entry) => ({ ...entry, size: entry.size + 1 })),
    })),
  },
  "ranges and conditions": {
    "storage that is a static file host": volumes(onPlainHost),
  },
  listing: {
    "store that begins a page at its token": volumes((port) => ({
      objects: (volume, { after, ...query }, options) =>
        port.objects(volume, query, options).map((first) => {
          const objects = first.objects.filter(({ path }) => after === undefined || comparePaths(path, after) >= 0);
          return { ...first, objects };
        }),
    })),
    "store that treats the prefix as a folder": volumes((port) => ({
      objects: (volume, { prefix, ...query }, options) =>
        port.objects(volume, { ...query, prefix: prefix === "" ? "" : `${prefix.replace(/\/$/, "")}/` }, options),
    })),
    "store that always reports more pages": volumes((port) => ({
      objects: (...args) => port.objects(...args).map((page) => ({ ...page, more: page.objects.length > 0 })),
    })),
  },
  folders: {
    "store that ignores the delimiter": volumes((port) => ({
      objects: (volume, { delimiter: _delimiter, ...query }, options) => port.objects(volume, query, options),
    })),
    "store that also lists the objects in folders": volumes((port) => ({
      objects: (volume, query, options) =>
        port.objects(volume, query, options).andThen((page) => {
          const { delimiter: _delimiter, ...flat } = query;
          return port.objects(volume, flat, options).map(({ objects }) => ({ ...page, objects }));
        }),
    })),
    "store that returns a folder again after its name": volumes((port) => ({
      objects: (volume, { after, ...query }, options) => {
        const from = after?.endsWith("/") ? after.slice(0, -1) : after;
        return port.objects(volume, { ...query, ...(from === undefined ? {} : { after: from }) }, options);
      },
    })),
    "store that names folders without their slash": volumes((port) => ({
      objects: (...args) =>
        port.objects(...args).map((page) => ({ ...page, folders: page.folders.map((one) => one.slice(0, -1)) })),
    })),
    "store whose limit does not count folders": volumes((port) => ({
      objects: (volume, { limit, ...query }, options) =>
        port.objects(volume, { ...query, limit: 1000 }, options).map(({ objects, folders }) => {
          const more = objects.length > limit;
          return { objects: objects.slice(0, limit), folders, more };
        }),
    })),
    "store that always groups": volumes((port) => ({
      objects: (volume, query, options) => port.objects(volume, { ...query, delimiter: "/" }, options),
    })),
  },
  remove: {
    "store that removes nothing": volumes(() => ({ remove: done })),
    "store that accepts the removal of a missing object": volumes((port) => ({
      remove: (...args) => port.remove(...args).orElse(() => okAsync(undefined)),
    })),
    "store that cannot remove": volumes(() => ({ remove: () => errAsync(notFound("There is none.")) })),
  },
  grants: {
    "store whose URLs never expire": volumes((port) => ({
      grantDownload: (volume, path, until, options) =>
        port.grantDownload(volume, path, plusMillis(until, 60_000), options),
    })),
    "store that accepts a read URL for writing": volumes((port) => ({
      grantDownload: (...args) => port.grantUpload(...args),
    })),
    "store that reports a later expiry of its URLs": volumes((port) => ({
      grantDownload: (...args) =>
        port.grantDownload(...args).map((grant) => ({ ...grant, expiresAt: plusMillis(grant.expiresAt, 60_000) })),
    })),
  },
  "web pages": {
    "storage that answers only preflights": behindProxy((headers, method) => {
      if (method !== "OPTIONS") headers.delete(ALLOW_ORIGIN);
    }),
    "storage that hides its errors": behindProxy((headers, _method, status) => {
      if (status >= 400) headers.delete(ALLOW_ORIGIN);
    }),
    "storage that allows another origin": behindProxy((headers) => {
      headers.set(ALLOW_ORIGIN, "https://other.example");
    }),
    "storage that allows credentials": behindProxy((headers) => {
      headers.set("access-control-allow-credentials", "true");
    }),
    "storage that pages may only read": behindProxy((headers, method) => {
      if (method === "OPTIONS") headers.set("access-control-allow-methods", "GET, HEAD");
    }),
    "storage that allows no ranges": behindProxy((headers, method) => {
      if (method === "OPTIONS") headers.set("access-control-allow-headers", "Content-Type");
    }),
    "storage that exposes no ETag": behindProxy((headers) => {
      headers.set("access-control-expose-headers", "Content-Range");
    }),
  },
  "storage origins": {
    "store that names no origin": volumes(() => ({ grantOrigins: () => okAsync([]) })),
    "store that permits every origin": volumes(() => ({ grantOrigins: () => okAsync(["http://*"]) })),
    "store that names the origin of downloads only": volumes((port) => ({
      grantUpload: (...args) =>
        port.grantUpload(...args).map((grant) => ({ ...grant, url: grant.url.replace("127.0.0.1", "localhost") })),
    })),
  },
};

const uploads = (change: (port: UploadsInParts) => Partial<UploadsInParts>) =>
  volumes(({ uploadsInParts }) =>
    uploadsInParts === undefined ? {} : { uploadsInParts: { ...uploadsInParts, ...change(uploadsInParts) } },
  );

const uploadMutants: Mutants<ProviderSubject> = {
  "uploads in parts": {
    "store that lists no parts": uploads((port) => ({ stored: (...args) => port.stored(...args).map(() => []) })),
    "store that counts no upload": uploads((port) => ({ pending: (...args) => port.pending(...args).map(() => 0) })),
    "store that counts complete uploads": uploads((port) => {
      let begun = 0;
      return {
        begin: (...args) => port.begin(...args).andTee(() => begun++),
        pending: (...args) => port.pending(...args).map(() => begun),
      };
    }),
    "store that lists a part twice": uploads((port) => ({
      stored: (...args) => port.stored(...args).map((parts) => [...parts, ...parts]),
    })),
    "store that lists the first tag of a part": uploads((port) => {
      const first = new Map<string, string>();
      return {
        stored: (upload, options) =>
          port.stored(upload, options).map((parts) =>
            parts.map((part) => {
              const key = `${upload.id} ${part.number}`;
              if (!first.has(key))
                first.set(
                  key,
                  part.etag.replace(/\d+/, (digits) => `${Number(digits) - 1}`),
                );
              return { ...part, etag: first.get(key) ?? "" };
            }),
          ),
      };
    }),
    "store whose uploads belong to every object": uploads((port) => {
      const paths = new Map<string, ObjectPath>();
      return {
        begin: (volume, path, options) => port.begin(volume, path, options).andTee((id) => paths.set(id, path)),
        stored: (upload, options) => port.stored({ ...upload, path: paths.get(upload.id) ?? upload.path }, options),
      };
    }),
    "store whose uploads belong to every volume": uploads((port) => {
      const owners = new Map<string, StoredVolume>();
      return {
        begin: (volume, path, options) => port.begin(volume, path, options).andTee((id) => owners.set(id, volume)),
        stored: (upload, options) =>
          port.stored({ ...upload, volume: owners.get(upload.id) ?? upload.volume }, options),
      };
    }),
    "store that accepts every id": uploads((port) => ({
      stored: (...args) => port.stored(...args).orElse(() => okAsync([])),
    })),
    "store that gives an object one upload": uploads((port) => {
      const ids = new Map<string, string>();
      return {
        begin: (volume, path, options) => {
          const key = `${volume.id}/${path}`;
          const known = ids.get(key);
          return known === undefined
            ? port.begin(volume, path, options).andTee((id) => ids.set(key, id))
            : okAsync(known);
        },
      };
    }),
    "store that accepts a longer part": uploads((port) => ({
      grant: (upload, parts, ...rest) =>
        port.grant(
          upload,
          parts.map((part) => ({ ...part, length: part.length + 1 })),
          ...rest,
        ),
    })),
    "store whose URLs never expire": uploads((port) => ({
      grant: (upload, parts, until, options) => port.grant(upload, parts, plusMillis(until, 60_000), options),
    })),
    "store that returns the URLs in a different order": uploads((port) => ({
      grant: (...args) => port.grant(...args).map((grant) => ({ ...grant, urls: grant.urls.toReversed() })),
    })),
    "store that begins an upload in a deleted volume": uploads((port) => ({
      begin: (...args) => port.begin(...args).orElse(() => okAsync("1-a-b")),
    })),
  },
};

const scheduleMutants: Mutants<ProviderSubject> = {
  schedules: {
    "scheduler that keeps the first schedule": scheduler((port) => ({
      put: (job, options) =>
        port.find(job).andThen((present) => (present === null ? port.put(job, options) : okAsync(undefined))),
    })),
    "scheduler that removes none": scheduler(() => ({ remove: done })),
    "scheduler that ignores the owner": scheduler((port) => ({
      put: (job, options) => port.put({ ...job, owner: shared }, options),
      find: (service) =>
        port.find({ ...service, owner: shared }).map((job) => (job === null ? null : { ...job, owner: service.owner })),
      remove: (service, options) => port.remove({ ...service, owner: shared }, options),
    })),
    "scheduler that loses the token": scheduler((port) => ({
      find: (service) => port.find(service).map((job) => (job === null ? null : { ...job, token: "" })),
    })),
  },
  "requested fires": {
    "scheduler that fires without a schedule": scheduler(() => ({ fire: done })),
    "scheduler that gives the fire a different id": scheduler((port) => ({
      fire: (service, fireId) => port.fire?.(service, `${fireId}-2`) ?? done(),
    })),
  },
};

mutantTests("VolumeStore", volumeStoreCases, storeMutants);
mutantTests("VolumeStore, objects", volumeObjectCases, objectMutants);
mutantTests("VolumeStore, uploads in parts", volumeUploadCases, uploadMutants);
mutantTests("Scheduler", schedulerCases, scheduleMutants);
