/** Port for the metrics of the engine. */

/** The current load of the engine. Each field is a count. */
export interface Load {
  readonly instances: {
    /** Instances that are starting because requests wait. */
    readonly starting: number;
    /** Instances that serve at least one request. */
    readonly busy: number;
    /** Instances that listen and serve no request. */
    readonly idle: number;
    /** Instances that are paused until their next request. */
    readonly frozen: number;
    /** Instances of a revision that is rolling out or draining. */
    readonly rolling: number;
  };
  /** Requests that wait for an instance with free capacity. */
  readonly requestsWaiting: number;
  /** Log entries that the log accepted but has not stored yet. */
  readonly logEntriesWaiting: number;
}

/**
 * Receives measurements. The engine calls the methods on its hot path, so they must return quickly and must not throw.
 */
export interface Telemetry {
  /** Records a cold start: an instance was started for waiting requests and listened after `seconds`. */
  coldStarted(seconds: number): void;
  /** Records a request to a service. Its response had the HTTP `status` and took `seconds`. */
  requestServed(status: number, seconds: number): void;
  /** Records stored log entries. `lagSeconds` is the age of the oldest entry when it was stored. */
  logStored(entries: number, lagSeconds: number): void;
  /** Records log entries that were lost because the log could not store them. */
  logLost(entries: number): void;
  /**
   * Registers a function that is called at each collection of metrics. Returns a function that removes the
   * registration.
   */
  watchLoad(read: () => Load): () => void;
  /** Returns the measurements so far as JSON, for `include` in another process. */
  snapshot(): Promise<unknown>;
  /**
   * Registers a function that reads the snapshot of another process. Each collection of metrics adds that snapshot.
   * Returns a function that removes the registration.
   */
  include(read: () => Promise<unknown>): () => void;
}

/** Telemetry that does nothing. */
export const noTelemetry: Telemetry = {
  coldStarted: () => {},
  requestServed: () => {},
  logStored: () => {},
  logLost: () => {},
  watchLoad: () => () => {},
  snapshot: async () => [],
  include: () => () => {},
};
