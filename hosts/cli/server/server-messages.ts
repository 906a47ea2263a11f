/** The messages between the engine's process and its child, the server, over Node's IPC channel. */
import type { ServeSettings } from "../../composition/settings.ts";
import type { ServingFacts } from "./serving.ts";

/** Messages of the engine. A `connection` is sent with the socket as its handle. */
export type EngineMessage =
  | { readonly kind: "start"; readonly settings: ServeSettings; readonly engineSocket: string; readonly port: number }
  | { readonly kind: "connection"; readonly id: number }
  /** Prepares a stop. The server serves as before until it sends `drained`. */
  | { readonly kind: "drain"; readonly seconds: number }
  | { readonly kind: "stop" };

/** Messages of the server. After `failed`, the server exits. */
export type ServerMessage =
  | { readonly kind: "ready"; readonly facts: ServingFacts }
  /** The server has received the connection, so the engine must close its handle. */
  | { readonly kind: "accepted"; readonly id: number }
  | { readonly kind: "drained" }
  | { readonly kind: "failed"; readonly message: string };
