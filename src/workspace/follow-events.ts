import type { EventsOptions } from "../api/file-api.ts";
import type { LogEventShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/errors.ts";
import type { Context } from "./context.ts";

/** Events as they are recorded. */
export async function* followEvents(_context: Context, _options: EventsOptions): AsyncIterable<LogEventShape> {
  yield await Promise.reject(new ChronicleError("PLATFORM_UNSUPPORTED", "not built"));
}
