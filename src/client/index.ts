/** The exports of the client for browsers and Node. All other modules are private. */
export { ChronicleClient } from "./chronicle-client.ts";
export type { ClientOptions } from "./create-client.ts";
export { createClient } from "./create-client.ts";
export type { ReadFile } from "./remote-workspace.ts";
export type { RetryRule } from "./retry.ts";
export { ChronicleError, type ErrorCode, type ErrorDetails } from "../core/values/errors.ts";
