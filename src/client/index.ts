/** The client, for browsers and Node. Everything else is private. */
export { ChronicleClient } from "./chronicle-client.ts";
export type { ClientOptions } from "./client-options.ts";
export { createClient } from "./create-client.ts";
export type { ReadFile } from "./remote-content.ts";
export type { RetryRule } from "./retry.ts";
export { ChronicleError, type ErrorCode, type ErrorDetails } from "../core/values/errors.ts";
