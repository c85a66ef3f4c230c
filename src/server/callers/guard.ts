import { ACTING, HINTS_HEADER } from "../../api/routes/content-headers.ts";
import type { ErrorCode } from "../../core/values/errors.ts";
import { type RequestHead, strangerOf } from "../../util/web-guard.ts";
import type { Listener } from "./listener.ts";

/** Why a request is not served. */
export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Headers that may be sent only once: for whom the call is made, in which role, and which request it is. Two values,
 * joined, would be ambiguous.
 */
const ONCE: ReadonlySet<string> = new Set([...Object.values(ACTING), HINTS_HEADER, "idempotency-key"]);

/** Refuses requests of other web pages, by the one rule of all surfaces (`strangerOf`), as a problem. */
export function refusalOf(head: RequestHead, listener: Listener): Refusal | undefined {
  const stranger = strangerOf(head, listener.kind === "socket" ? "socket" : listener, ONCE);
  if (stranger === undefined) return undefined;
  const { status, detail } = stranger;
  const told = status === 421 ? `${detail}: the server is told its names by --allow-host NAME` : detail;
  return { status, code: status === 400 ? "USAGE" : "FORBIDDEN", detail: told };
}
