/** The client, for browsers and Node. What is not named here is not public. */
export { ChronicleClient } from "./chronicle-client.ts";
export type { ClientOptions } from "./client-options.ts";
export { createClient } from "./create-client.ts";
export type { ReadFile } from "./remote-content.ts";
export type { RetryRule } from "./retry.ts";
export { ChronicleError, type ErrorCode, type ErrorDetails } from "../core/values/errors.ts";
