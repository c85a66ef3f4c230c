/** The exports of the client for Node. Unlike the client of `index.ts`, this client can also use Unix sockets. */
export { ChronicleClient } from "./chronicle-client.ts";
export type { ClientOptions } from "./create-client.ts";
export { createClient } from "./create-node-client.ts";
export type { ReadFile } from "./remote-workspace.ts";
export type { RetryRule } from "./retry.ts";
export { ChronicleError, type ErrorCode, type ErrorDetails } from "../core/values/errors.ts";
