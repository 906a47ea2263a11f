import type { DatabaseSync } from "node:sqlite";

/**
 * Returns a function that lists the services in a log file. A list takes one seek per service; DISTINCT would read
 * every row.
 */
export const prepareServices = (db: DatabaseSync): (() => string[]) => {
  const next = db.prepare("SELECT min(service) AS service FROM entries WHERE service > ?");
  return () => {
    const services: string[] = [];
    for (let last = ""; ; ) {
      const { service } = next.get(last) as { service: string | null };
      if (service === null) return services;
      services.push(service);
      last = service;
    }
  };
};
