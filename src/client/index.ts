/** The client, for browsers and Node. Everything else is private. */
export { ChronicleClient } from "./chronicle-client.ts";
export type { ClientOptions } from "./create-client.ts";
export { createClient } from "./create-client.ts";
export type { ReadFile } from "./remote-workspace.ts";
export type { RetryRule } from "./retry.ts";
export { ChronicleError, type ErrorCode, type ErrorDetails } from "../core/values/errors.ts";
